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

/** Operations on sessions and their tenant outside of the conversation, for operators. `createClient` has the conversation. */
export interface Admin {
  /** Returns a handle of a session. Makes no request. Throws `invalid-input`. */
  session(id: string): SessionAdmin
  /** Resolves with the identity and rights of the token. Needs no scope. */
  me(options?: CallOptions): Promise<Identity>
  /**
   * Resolves with the money that the tenant of the token has spent in the present window of its budget, and the rest. Needs
   * the scope `spending`. Rejects with `route-not-found` if the server has no tenant budget.
   */
  tenantSpending(options?: CallOptions): Promise<TenantSpending>
}

/** Operations on one session. Each method makes one request, which is safe to repeat and is retried, and rejects with a `ClientError`. */
export interface SessionAdmin {
  readonly id: string
  readonly schedules: SessionSchedules
  readonly notices: SessionNotices
  readonly requests: SessionRequests
  /** Lists the labels of the active path, in order of creation. */
  labels(options?: LabelsOptions): Promise<readonly Label[]>
  /**
   * Decides about a run that is held because its agent is defined otherwise than when it began: one of `heldRuns`. Needs the
   * scope `approvals`. A run about which was decided before stays as it is.
   */
  recover(runId: string, decision: 'continue' | 'stop', options?: CallOptions): Promise<{ readonly runId: string }>
  /** Resolves with a ticket for `?ticket=` of one event stream of the session, which must be opened within a minute. */
  ticket(options?: CallOptions): Promise<Ticket>
}

/** Schedules of one session: inputs that the server sends at the times of a rule. */
export interface SessionSchedules {
  /** With `id` the same request gives the schedule that is there; without, each call makes one. Rejects with `session-missing` before the first input. */
  create(schedule: CallOptions & ScheduleRequest): Promise<ScheduleView>
  /** All of the session, in the order of their ids. */
  list(options?: CallOptions): Promise<readonly ScheduleView[]>
  /** Sends nothing until it is resumed. Rejects with `unknown-schedule`. */
  pause(scheduleId: string, options?: CallOptions): Promise<ScheduleView>
  /** Goes on with the next time after now. Rejects with `unknown-schedule`. */
  resume(scheduleId: string, options?: CallOptions): Promise<ScheduleView>
  /** Runs that it has started go on. */
  delete(scheduleId: string, options?: CallOptions): Promise<void>
}

/** Notices to webhooks about one session, also after it has expired. */
export interface SessionNotices {
  /** The newest first. */
  list(options?: NoticesOptions): Promise<NoticeList>
  /** Sends a notice again that was delivered or has failed, under the same id. Needs the scope `admin`. Rejects with `unknown-notice`. */
  resend(noticeId: string, options?: CallOptions): Promise<NoticeView>
}

/**
 * Recorded model requests of one session, a child session included. Needs the scope `requests:read`. Rejects with
 * `route-not-found` if the server does not expose them.
 */
export interface SessionRequests {
  /** Lists requests without content, the newest first. */
  list(options?: RequestsOptions): Promise<RequestList>
  /** Resolves with the request by the id of its message (a discarded one included) or of its compaction. Rejects with `unknown-request`. */
  get(id: string, options?: CallOptions): Promise<RequestView>
}

/** Path whose labels are listed. */
export interface LabelsOptions extends CallOptions {
  /** End of another path, as `branches` gives it. Default: the end of the active one. */
  readonly leaf?: string
}

/** State filter and page of a list of notices. */
export interface NoticesOptions extends CallOptions {
  /** Only notices in this state. Default: all. */
  readonly state?: NoticeView['state']
  /** 1–200, default 50. */
  readonly limit?: number
  /** `nextCursor` of the page before. */
  readonly cursor?: string
}

/** Page of a list of recorded requests. */
export interface RequestsOptions extends CallOptions {
  /** 1–200, default 50. */
  readonly limit?: number
  /** `nextCursor` of the page before. */
  readonly cursor?: string
}

const { checkFields, checkName, checkRequired, checkSignal, oneOf, optionalName, whole } = inputChecks

const labelsChecks: FieldChecks<Omit<LabelsOptions, 'abortSignal'>> = { leaf: optionalName }
const noticesChecks: FieldChecks<Omit<NoticesOptions, 'abortSignal'>> = { state: oneOf('pending', 'delivered', 'failed'), limit: whole(1), cursor: optionalName }
const requestsChecks: FieldChecks<Omit<RequestsOptions, 'abortSignal'>> = { limit: whole(1), cursor: optionalName }
const scheduleChecks: FieldChecks<ScheduleRequest> = {
  ...{ id: optionalName, cron: optionalName, timeZone: optionalName, every: whole(1), at: whole(0) },
  ...{ onMissed: oneOf('once', 'skip', 'all'), onBusy: oneOf('queue', 'skip'), input: (_path, value) => checkMessage(value) },
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
      // A try whose answer was lost has made it: the next one finds it by its id.
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
  /** Sends these fields; the options hold the signal only. Rejects where the options are refused. */
  send<T>(method: HttpRequest['method'], path: string, options: { readonly abortSignal?: AbortSignal | undefined } | undefined, body?: object): Promise<T>
  /** A method without a body about what its first argument names. */
  change<T>(method: 'GET' | 'POST' | 'DELETE', name: string, pathOf: (id: string) => string): (id: string, options?: CallOptions) => Promise<T>
  /** A method that sends its options, less the signal, as the query. */
  read<T, Options extends CallOptions = CallOptions>(path: string, checks?: FieldChecks<Omit<Options, 'abortSignal'>>): (options?: Options) => Promise<T>
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
    read: (path, checks) => async (options: CallOptions = {}) => {
      checkFields('options', options, { abortSignal: checkSignal, ...checks })
      const { abortSignal, ...query } = options
      return send('GET', path + queryOf(query), { abortSignal })
    },
  }
}
