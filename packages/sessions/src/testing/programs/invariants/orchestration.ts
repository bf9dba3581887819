import { unheardStep } from '../cast.ts'
import type { ProgramInvariant } from '../program-end.ts'

export const messagesAreKnown: ProgramInvariant = {
  name: 'each call is judged by the user message of its turn',
  check({ program, sessions }) {
    // A process that takes a turn over does not read the messages that a compaction stands for.
    if (program.setup.compaction !== undefined || program.steps.some((step) => step.do === 'compact')) return []
    return sessions.flatMap(({ log, record }) =>
      log.filter((event) => JSON.stringify(event).includes(`"${unheardStep}`)).map(({ seq }) => `event ${seq} of ${record.key} was made without the message of its turn`),
    )
  },
}
