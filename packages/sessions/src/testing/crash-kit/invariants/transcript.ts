import { checkTranscript } from '@bowline/agent-loop/testing'
import { holdingStatuses } from '../../../contract/records.ts'
import type { Invariant } from '../types.ts'

const holding: readonly string[] = holdingStatuses

export const transcriptIsValid: Invariant = {
  name: 'the transcript is valid',
  check: ({ sessions }) =>
    sessions.flatMap(({ record, runs, messages }) => {
      const openCalls = runs.some((run) => holding.includes(run.status))
      return checkTranscript(messages, { openCalls }).map((problem) => `${record.key}: ${problem}`)
    }),
}
