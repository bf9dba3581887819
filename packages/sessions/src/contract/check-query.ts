import { statuses } from '@bowline/agent-loop/events'
import type { FieldChecks } from '@bowline/llm/arguments'
import { inputChecks } from '../arguments.ts'
import type { RunQuery, RunsQuery, SessionQuery } from './session-store.ts'
import type { PageRequest } from './paging.ts'
import type { NoticeQuery } from './notices.ts'
import { runMoves } from './records.ts'

const mostOnPage = 1000
const listOfStatuses = inputChecks.listOf(inputChecks.oneOf(...statuses))

/** Options that every list has. */
export const pageOptions: FieldChecks<PageRequest> = { limit: inputChecks.whole(1, mostOnPage), page: inputChecks.optionalName }

export const checkPageRequest = inputChecks.optionalRecord<PageRequest>(pageOptions)

export const sessionQueryFields: FieldChecks<SessionQuery> = {
  ...pageOptions,
  agent: inputChecks.optionalName,
  status: (path, value) => {
    if (value !== null) listOfStatuses(path, value)
  },
  expired: inputChecks.checkBoolean,
  keyPrefix: inputChecks.checkText,
  parent: (path, value) => {
    if (value !== null) inputChecks.optionalName(path, value)
  },
  activeSince: (path, value) => inputChecks.checkNumber(path, value, 0),
}

export const checkSessionQuery = inputChecks.optionalRecord<SessionQuery>(sessionQueryFields)

export const runQueryFields: FieldChecks<RunQuery> = {
  ...pageOptions,
  status: inputChecks.listOf(inputChecks.oneOf(...Object.keys(runMoves))),
  newestFirst: inputChecks.checkBoolean,
}

/** Checks a query with the public words for the status of a run. */
export const checkRunsQuery = inputChecks.optionalRecord<RunsQuery>({ ...runQueryFields, status: listOfStatuses })

export const noticeQueryFields: FieldChecks<NoticeQuery> = {
  ...pageOptions,
  key: inputChecks.optionalName,
  state: inputChecks.oneOf('pending', 'delivered', 'failed'),
  hook: inputChecks.optionalName,
}

export const checkNoticeQuery = inputChecks.optionalRecord<NoticeQuery>(noticeQueryFields)
