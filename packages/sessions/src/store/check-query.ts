import { inputChecks, type OptionTable } from '../arguments.ts'
import type { PageRequest, RunQuery, SessionQuery } from './contract.ts'
import { runMoves, type SessionStatus } from './records.ts'

const mostOnPage = 1000
const sessionStatuses = ['active', 'busy', 'idle', 'failed', 'expired'] as const satisfies readonly SessionStatus[]

/** The options of each list. */
export const pageOptions: OptionTable<PageRequest> = { limit: inputChecks.whole(1, mostOnPage), page: inputChecks.name }

export const checkPageRequest = inputChecks.options<PageRequest>(pageOptions)

export const checkSessionQuery = inputChecks.options<SessionQuery>({
  ...pageOptions,
  agent: inputChecks.name,
  status: inputChecks.oneOf(...sessionStatuses),
  keyPrefix: inputChecks.checkText,
  parent: (path, value) => {
    if (value !== null) inputChecks.name(path, value)
  },
  activeSince: (path, value) => inputChecks.checkNumber(path, value, 0),
})

export const checkRunQuery = inputChecks.options<RunQuery>({
  ...pageOptions,
  status: inputChecks.listOf(inputChecks.oneOf(...Object.keys(runMoves))),
  newestFirst: inputChecks.checkBoolean,
})
