import type { ErrorKind } from '../model-error.ts'

/** Codes, types and status words that always mean one kind. */
export const exactCodes: Readonly<Record<string, ErrorKind>> = {
  insufficient_quota: 'billing',
  credit_balance_exhausted: 'billing',
  organization_spend_limit_exceeded: 'billing',
  project_spend_limit_exceeded: 'billing',
  organization_usage_limit_exceeded: 'billing',
  billing_hard_limit_reached: 'billing',
  billing_not_active: 'billing',
  enforced_spend_limit_reached: 'billing',
  billing_error: 'billing',
  BILLING_DISABLED: 'billing',
  context_length_exceeded: 'context-overflow',
  model_context_window_exceeded: 'context-overflow',
  exceed_context_size_error: 'context-overflow',
  request_too_large: 'payload-too-large',
  invalid_api_key: 'auth-permanent',
  API_KEY_INVALID: 'auth-permanent',
  ExpiredTokenException: 'auth',
  unsupported_country_region_territory: 'permission',
  model_not_found: 'model-not-found',
  previous_response_not_found: 'history-invalid',
  invalid_encrypted_content: 'history-invalid',
  content_policy_violation: 'content-blocked',
  content_filter: 'content-blocked',
  invalid_prompt: 'content-blocked',
  ResponsibleAIPolicyViolation: 'content-blocked',
  blockReason: 'content-blocked',
  string_above_max_length: 'bad-request',
  overloaded_error: 'overloaded',
  server_is_overloaded: 'overloaded',
  slow_down: 'overloaded',
  timeout_error: 'timeout',
}

/** Groups of errors. Within a group, phrases decide the kind. `none` is for errors without status and type. */
export type Group =
  | 'bad-request'
  | 'unauthorized'
  | 'payment'
  | 'forbidden'
  | 'not-found'
  | 'too-large'
  | 'rate'
  | 'timeout'
  | 'overloaded'
  | 'server'
  | 'cancelled'
  | 'none'

/** Codes, types and status words that are no more specific than an HTTP status. */
export const groupCodes: Readonly<Record<string, Group>> = {
  rate_limit_error: 'rate',
  rate_limit_exceeded: 'rate',
  RESOURCE_EXHAUSTED: 'rate',
  ThrottlingException: 'rate',
  UNAVAILABLE: 'overloaded',
  DEADLINE_EXCEEDED: 'timeout',
  permission_error: 'forbidden',
  PERMISSION_DENIED: 'forbidden',
  authentication_error: 'unauthorized',
  UNAUTHENTICATED: 'unauthorized',
  not_found_error: 'not-found',
  NOT_FOUND: 'not-found',
  invalid_request_error: 'bad-request',
  INVALID_ARGUMENT: 'bad-request',
  FAILED_PRECONDITION: 'bad-request',
  BadRequestError: 'bad-request',
  ValidationException: 'bad-request',
  validation_error: 'bad-request',
  validation: 'bad-request',
  api_error: 'server',
  server_error: 'server',
  INTERNAL: 'server',
  CANCELLED: 'cancelled',
}

const statusGroups: Readonly<Record<number, Group>> = {
  401: 'unauthorized',
  402: 'payment',
  403: 'forbidden',
  404: 'not-found',
  408: 'timeout',
  409: 'server',
  413: 'too-large',
  425: 'server',
  429: 'rate',
  499: 'cancelled',
  503: 'overloaded',
  504: 'timeout',
  524: 'timeout',
  529: 'overloaded',
}

export function groupOfStatus(status: number | undefined): Group | undefined {
  if (status === undefined) return undefined
  return statusGroups[status] ?? (status >= 500 ? 'server' : status >= 400 ? 'bad-request' : undefined)
}

/** Kind of an error of the group if no phrase matches. */
export const kindOfGroup: Readonly<Record<Group, ErrorKind>> = {
  'bad-request': 'bad-request',
  unauthorized: 'auth',
  payment: 'billing',
  forbidden: 'permission',
  'not-found': 'bad-request',
  'too-large': 'context-overflow',
  rate: 'rate-limit',
  timeout: 'timeout',
  overloaded: 'overloaded',
  server: 'server-error',
  cancelled: 'network',
  none: 'unknown',
}

export function lookUp<T>(table: Readonly<Record<string, T>>, name: string | undefined): T | undefined {
  return name !== undefined && Object.hasOwn(table, name) ? table[name] : undefined
}
