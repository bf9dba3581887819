import { resolveSchema } from '@bowline/llm'
import type { AssistantMessage, JSONValue, SchemaIssue, SchemaResult } from '@bowline/llm'
import { messageOf } from '../agent-error.ts'
import type { Turn } from '../loop/turn.ts'
import type { Call } from './call.ts'
import { cancelledOutcome, errorOutcome } from './outcome.ts'
import type { Outcome } from './outcome.ts'
import { cutMiddle } from './output.ts'
import type { Tool } from './tool.ts'

/** `ready` to run here, `remote` to be given away, or `settled` without running. */
export type Prepared =
  | { readonly kind: 'ready'; readonly input: JSONValue }
  | { readonly kind: 'remote' }
  | { readonly kind: 'settled'; readonly outcome: Outcome }

const shownCharacters = 2_000

export async function prepare(turn: Turn, answer: AssistantMessage, call: Call): Promise<Prepared> {
  const { tool } = call
  const refused = refusedByAnswer(answer) ?? refusedByCall(call) ?? refusedByLimit(turn, call)
  if (refused) return { kind: 'settled', outcome: refused }
  if (!tool) return { kind: 'settled', outcome: errorOutcome(`there is no tool named "${call.part.toolName}"`, 'no') }
  const checked = await validate(tool, call.part.input)
  if (!checked.ok) return { kind: 'settled', outcome: errorOutcome(invalidInput(checked.issues, call.part.input), 'no') }
  return tool.execute ? { kind: 'ready', input: checked.value } : { kind: 'remote' }
}

function refusedByAnswer({ stopReason }: AssistantMessage): Outcome | undefined {
  switch (stopReason) {
    case 'stop':
    case 'tool-calls':
      return undefined
    case 'length':
      return errorOutcome('not run: the answer was cut off at its length limit, so its calls may be incomplete', 'no')
    case 'error':
      return cancelledOutcome('the answer failed', 'no')
    case 'aborted':
      return cancelledOutcome('the answer was stopped', 'no')
    default: {
      const unknown: never = stopReason
      return unknown
    }
  }
}

/** Broken arguments are never repaired. */
function refusedByCall({ part }: Call): Outcome | undefined {
  if (!part.invalid) return undefined
  const received = cutMiddle(part.inputText ?? '', shownCharacters)
  return errorOutcome(`the arguments are not valid (${part.invalid}); received: ${received}`, 'no')
}

function refusedByLimit({ agent, earlierCalls }: Turn, { row }: Call): Outcome | undefined {
  const { maxToolCalls } = agent.limits
  if (earlierCalls + row.index < maxToolCalls) return undefined
  return cancelledOutcome(`the turn may run ${maxToolCalls} tool calls`, 'no')
}

async function validate(tool: Tool, input: JSONValue): Promise<SchemaResult> {
  try {
    const schema = await resolveSchema(tool.inputSchema)
    return await schema.validate(input)
  } catch (error) {
    return { ok: false, issues: [{ path: '', message: messageOf(error) }] }
  }
}

function invalidInput(issues: readonly SchemaIssue[], input: JSONValue): string {
  const lines = issues.map(({ path, message }) => `${path === '' ? '(input)' : path}: ${message}`)
  return ['the arguments are not valid:', ...lines, `received: ${cutMiddle(JSON.stringify(input), shownCharacters)}`].join('\n')
}
