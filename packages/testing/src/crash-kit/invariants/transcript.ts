import { checkTranscript } from '../../loop/check-transcript.ts'
import { holdingStatuses } from '@bowline/sessions/internal'
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
