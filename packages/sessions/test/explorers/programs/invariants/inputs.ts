import type { SessionEnd } from '../../../../../testing/src/crash-kit/types.ts'
import type { ProgramEnd, ProgramInvariant, AcceptedInput } from '../program-end.ts'

/** Returns accepted inputs, except those of expired sessions and of sessions in which a client has withdrawn inputs. */
function keptInputs({
  accepted,
  cleared,
  sessions,
}: ProgramEnd): readonly { readonly input: AcceptedInput; readonly session: SessionEnd }[] {
  return accepted.flatMap((input) => {
    const session = sessions.find(({ record }) => record.key === input.session)
    return session && session.record.expiredAt === undefined && !cleared.has(input.session) ? [{ input, session }] : []
  })
}

function holds(value: unknown, token: string): boolean {
  return JSON.stringify(value).includes(JSON.stringify(token).slice(1, -1))
}

const shown: readonly string[] = ['user-message', 'runtime-input']

export const inputsAreShownOnce: ProgramInvariant = {
  name: 'an accepted input is in the log at most once',
  check: (end) =>
    end.accepted.flatMap(({ token, session: key }) => {
      const session = end.sessions.find(({ record }) => record.key === key)
      const times = session?.log.filter((event) => shown.includes(event.type) && holds(event, token)).length ?? 0
      return times <= 1 ? [] : [`the input ${token} is in the log ${times} times, expected at most 1`]
    }),
}

/** Checks completed runs without limits only, because other turns may end before another model call. */
export const overlaysReachTheirTurn: ProgramInvariant = {
  name: 'an overlay that a reader gives at a step-end reaches the same turn',
  check: ({ amidTurn, sessions, program: { setup } }) => {
    const isLimited = [setup.maxSteps, setup.maxTokens, setup.maxCost, setup.maxMs].some((limit) => limit !== undefined)
    return (isLimited ? [] : amidTurn).flatMap(({ token, runId, isShown }) => {
      const isCompleted = sessions.some(({ runs }) => runs.some(({ id, status }) => id === runId && status === 'completed'))
      return isCompleted && !isShown ? [`the overlay ${token} was given at a step-end of ${runId}, which completed without it`] : []
    })
  },
}

/** Checks completed runs only, because other runs may have ended before another model call. */
export const overlaysAreShown: ProgramInvariant = {
  name: 'an accepted overlay reaches the model',
  check: (end) =>
    keptInputs(end).flatMap(({ input: { token, method }, session }) => {
      if (method !== 'overlay' || end.prompts.some((prompt) => holds(prompt, token) || prompt.includes(token))) return []
      if (holds(session.inbox, token) || session.runs.some(({ status }) => status !== 'completed')) return []
      return [`the overlay ${token} was accepted, but no prompt and no inbox row has it`]
    }),
}
