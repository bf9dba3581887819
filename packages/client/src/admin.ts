import type { FieldChecks } from '@bowline/llm/arguments'
import { inputChecks } from './arguments.ts'
import { checkAdminOptions, randomId, type AdminOptions } from './client-options.ts'
import type { CallOptions } from './client-session.ts'
import { checkMessage, checkSessionId } from './common-checks.ts'
import { httpOf, queryOf, type Http, type HttpRequest } from './http.ts'
import type { NoticeList, NoticeView } from './wire-notices.ts'
import type { RequestList, RequestView } from './wire-requests.ts'
import type { ScheduleList, ScheduleRequest, ScheduleView } from './wire-schedules.ts'
import type { Identity, Label, LabelList, TenantSpending, Ticket } from './wire-sessions.ts'

export type { AdminOptions } from './client-options.ts'

/** Operations for operators on sessions and their tenant. `createClient` has the operations of the conversation. */
export interface Admin {
  /** Returns a handle of a session without making a request. Throws `invalid-input`. */
  session(id: string): SessionAdmin
  /** Resolves with the identity and rights of the token. Needs no scope. */
  me(options?: CallOptions): Promise<Identity>
  /**
   * Resolves with the money that the tenant of the token has spent in the current budget window, and with the money left. Needs the
   * scope `spending`. Rejects with `route-not-found` if the server has no tenant budget.
   */
  tenantSpending(options?: CallOptions): Promise<TenantSpending>
}

/** Operations on one session. Each method makes one idempotent request, retries it, and rejects with a `ClientError`. */
export interface SessionAdmin {
  readonly id: string
  readonly schedules: SessionSchedules
  readonly notices: SessionNotices
  readonly requests: SessionRequests
  /** Lists the labels of the active path in order of creation. */
  labels(options?: LabelsOptions): Promise<readonly Label[]>
  /**
   * Decides about a run that is held because the definition of its agent has changed: one of `heldRuns`. Needs the scope
   * `approvals`. Does nothing if a decision about the run was made before.
   */
  recover(runId: string, decision: 'continue' | 'stop', options?: CallOptions): Promise<{ readonly runId: string }>
  /** Resolves with a ticket for `?ticket=` of one event stream of the session. The stream must be opened within a minute. */
  ticket(options?: CallOptions): Promise<Ticket>
}

/** Schedules of one session: inputs that the server sends at the times of a rule. */
export interface SessionSchedules {
  /**
   * Creates a schedule. With `id` the call is idempotent and returns the existing schedule. Without `id` each call creates a new
   * one. Rejects with `session-missing` before the first input of the session.
   */
  create(schedule: CallOptions & ScheduleRequest): Promise<ScheduleView>
  /** Lists all schedules of the session, ordered by id. */
  list(options?: CallOptions): Promise<readonly ScheduleView[]>
  /** Pauses the schedule: it sends nothing until it is resumed. Rejects with `unknown-schedule`. */
  pause(scheduleId: string, options?: CallOptions): Promise<ScheduleView>
  /** Resumes the schedule with its next time after now. Rejects with `unknown-schedule`. */
  resume(scheduleId: string, options?: CallOptions): Promise<ScheduleView>
  /** Deletes the schedule. Runs that it has started continue. */
  delete(scheduleId: string, options?: CallOptions): Promise<void>
}

/** Webhook notices about one session. They can still be read after the session has expired. */
export interface SessionNotices {
  /** Lists notices, newest first. */
  list(options?: NoticesOptions): Promise<NoticeList>
  /** Resends a delivered or failed notice under the same id. Needs the scope `admin`. Rejects with `unknown-notice`. */
  resend(noticeId: string, options?: CallOptions): Promise<NoticeView>
}

/**
 * Recorded model requests of one session or child session. Needs the scope `requests:read`. Rejects with `route-not-found` if the
 * server does not expose them.
 */
export interface SessionRequests {
  /** Lists requests without content, newest first. */
  list(options?: RequestsOptions): Promise<RequestList>
  /**
   * Resolves with one request. `id` is the id of its message (also of a discarded one) or of its compaction. Rejects with
   * `unknown-request`.
   */
  get(id: string, options?: CallOptions): Promise<RequestView>
}

/** Path whose labels are listed. */
export interface LabelsOptions extends CallOptions {
  /** Last entry of another path, as returned by `branches`. Default: the last entry of the active path. */
  readonly leaf?: string
}

/** State filter and page of a list of notices. */
export interface NoticesOptions extends CallOptions {
  /** Only notices in this state. Default: all. */
  readonly state?: NoticeView['state']
  /** Maximum number of notices, 1–200. Default 50. */
  readonly limit?: number
  /** `nextCursor` of the previous page. */
  readonly cursor?: string
}

/** Page of a list of recorded requests. */
export interface RequestsOptions extends CallOptions {
  /** Maximum number of requests, 1–200. Default 50. */
  readonly limit?: number
  /** `nextCursor` of the previous page. */
  readonly cursor?: string
}

const { checkFields, checkName, checkRequired, checkSignal, oneOf, optionalName, whole } = inputChecks

const labelsChecks: FieldChecks<Omit<LabelsOptions, 'abortSignal'>> = { leaf: optionalName }
const noticesChecks: FieldChecks<Omit<NoticesOptions, 'abortSignal'>> = {
  state: oneOf('pending', 'delivered', 'failed'),
  limit: whole(1),
  cursor: optionalName,
}
const requestsChecks: FieldChecks<Omit<RequestsOptions, 'abortSignal'>> = { limit: whole(1), cursor: optionalName }
const scheduleChecks: FieldChecks<ScheduleRequest> = {
  id: optionalName,
  cron: optionalName,
  timeZone: optionalName,
  every: whole(1),
  at: whole(0),
  onMissed: oneOf('once', 'skip', 'all'),
  onBusy: oneOf('queue', 'skip'),
  input: (_path, value) => checkMessage(value),
}

/** Creates an admin client of one server. Makes no request. Throws a `ClientError` with code `invalid-config`. */
export function createAdmin(options: AdminOptions): Admin {
  checkAdminOptions(options)
  const { ids = randomId } = options
  const http = httpOf(options)
  return {
    session(id) {
      checkSessionId('id', id)
      return sessionAdmin(requestsBelow(http, `/api/agent/session/${encodeURIComponent(id)}`), id, ids)
    },
    me: requestsBelow(http, '/api').read('/me'),
    tenantSpending: requestsBelow(http, '/api/tenant').read('/spending'),
  }
}

function sessionAdmin(requests: Requests, id: string, ids: () => string): SessionAdmin {
  return {
    id,
    schedules: schedulesOf(requests, ids),
    notices: {
      list: requests.read('/notices', noticesChecks),
      resend: requests.change('POST', 'noticeId', (noticeId) => `/notices/${noticeId}/resend`),
    },
    requests: {
      list: requests.read('/requests', requestsChecks),
      get: requests.change('GET', 'id', (requestId) => `/requests/${requestId}`),
    },
    async labels(options) {
      return (await requests.read<LabelList, LabelsOptions>('/labels', labelsChecks)(options)).labels
    },
    async recover(runId, decision, options) {
      checkName('runId', runId)
      checkRequired('decision', decision, 'continue or stop', (given) => given === 'continue' || given === 'stop')
      return requests.send('POST', `/runs/${encodeURIComponent(runId)}/recover`, options, { decision })
    },
    ticket: async (options) => requests.send('POST', '/ticket', options),
  }
}

function schedulesOf(requests: Requests, ids: () => string): SessionSchedules {
  const path = '/schedules'
  const change = (act: string) => requests.change<ScheduleView>('POST', 'scheduleId', (id) => `${path}/${id}/${act}`)
  return {
    async create(schedule) {
      checkFields('schedule', schedule, { abortSignal: checkSignal, ...scheduleChecks })
      // If a try succeeded but its answer was lost, the next try finds the schedule by this id.
      const { abortSignal, id = ids(), ...rule } = schedule
      const times = [rule.cron, rule.every, rule.at].filter((time) => time !== undefined)
      checkRequired('schedule', schedule, 'an object with exactly one of cron, every and at', () => times.length === 1)
      return requests.send('POST', path, { abortSignal }, { ...rule, id })
    },
    async list(options) {
      return (await requests.read<ScheduleList>(path)(options)).schedules
    },
    pause: change('pause'),
    resume: change('resume'),
    delete: requests.change('DELETE', 'scheduleId', (id) => `${path}/${id}`),
  }
}

interface Requests {
  /** Sends these fields as JSON. `options` holds only the signal. Rejects if the options are invalid. */
  send<T>(
    method: HttpRequest['method'],
    path: string,
    options: { readonly abortSignal?: AbortSignal | undefined } | undefined,
    body?: object,
  ): Promise<T>
  /** Returns a method without a body. Its first argument names what it changes. */
  change<T>(
    method: 'GET' | 'POST' | 'DELETE',
    name: string,
    pathOf: (id: string) => string,
  ): (id: string, options?: CallOptions) => Promise<T>
  /** Returns a method that sends its options, except the signal, as the query. */
  read<T, Options extends CallOptions = CallOptions>(
    path: string,
    checks?: FieldChecks<Omit<Options, 'abortSignal'>>,
  ): (options?: Options) => Promise<T>
}

function requestsBelow(http: Http, base: string): Requests {
  const send: Requests['send'] = async (method, path, options = {}, body) => {
    checkFields('options', options, { abortSignal: checkSignal })
    return http.json({ method, path: base + path, ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }) }, options.abortSignal)
  }
  return {
    send,
    change: (method, name, pathOf) => async (id, options) => {
      checkName(name, id)
      return send(method, pathOf(encodeURIComponent(id)), options)
    },
    read:
      (path, checks) =>
      async (options: CallOptions = {}) => {
        checkFields('options', options, { abortSignal: checkSignal, ...checks })
        const { abortSignal, ...query } = options
        return send('GET', path + queryOf(query), { abortSignal })
      },
  }
}
