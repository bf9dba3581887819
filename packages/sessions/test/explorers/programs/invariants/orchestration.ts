import { unheardStep } from '../cast.ts'
import type { ProgramInvariant } from '../program-end.ts'

export const messagesAreKnown: ProgramInvariant = {
  name: 'orchestration steps are chosen with the user message of the turn',
  check({ program, sessions }) {
    // After a takeover the process does not read messages that a compaction has replaced.
    if (program.setup.compaction !== undefined || program.steps.some((step) => step.do === 'compact')) return []
    return sessions.flatMap(({ log, record }) =>
      log
        .filter((event) => JSON.stringify(event).includes(`"${unheardStep}`))
        .map(({ seq }) => `event ${seq} of ${record.key} was written without the user message of its turn`),
    )
  },
}
