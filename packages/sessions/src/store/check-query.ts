import type { FieldChecks } from '@bowline/llm/arguments'
import { inputChecks } from '../arguments.ts'
import type { PageRequest, RunQuery, SessionQuery } from './contract.ts'
import { runMoves, type SessionStatus } from './records.ts'

const mostOnPage = 1000
const sessionStatuses = ['active', 'busy', 'idle', 'failed', 'expired'] as const satisfies readonly SessionStatus[]

/** The options of each list. */
export const pageOptions: FieldChecks<PageRequest> = { limit: inputChecks.whole(1, mostOnPage), page: inputChecks.optionalName }

export const checkPageRequest = inputChecks.optionalRecord<PageRequest>(pageOptions)

export const sessionQueryFields: FieldChecks<SessionQuery> = {
  ...pageOptions,
  agent: inputChecks.optionalName,
  status: inputChecks.oneOf(...sessionStatuses),
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

export const checkRunQuery = inputChecks.optionalRecord<RunQuery>(runQueryFields)
