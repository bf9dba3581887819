import type { ListedAgent } from '../bridge-contract.ts'
import { namesOf } from '../missing-agent.ts'
import type { BridgeRedaction } from '../redact.ts'
import type { BridgeView } from './bridge-view.ts'

const maxAgents = 20
const maxCharacters = 200

/** Returns the instructions of a connection for the model: the current agents with their purpose, and the order of calls. */
export async function instructionsOf(bridge: BridgeView, redaction: BridgeRedaction): Promise<string> {
  // The description of a worker is known once it has started.
  if (bridge.discover().some(({ status }) => status === 'starting')) await bridge.refresh()
  const agents = bridge.discover()
  const more = agents.length > maxAgents ? [`- and ${agents.length - maxAgents} more: see agents_discover`] : []
  const lines = agents.slice(0, maxAgents).map((agent) => redaction.text(lineOf(agent)))
  return [...opening(agents.length), ...lines, ...more, '', ...order].join('\n')
}

/** Returns the ids of the current agents, as a sentence for the description of a tool. */
export function agentsNow(bridge: BridgeView, redaction: BridgeRedaction): string {
  const ids = bridge.discover().map(({ id }) => id)
  return ids.length === 0 ? 'There are none now.' : redaction.text(`There are now: ${namesOf(ids)}.`)
}

function opening(count: number): readonly string[] {
  if (count === 0) return ['There are no agents to hand work to now; agents_discover says when there are.']
  return ['Hands work to other agents. There are now:']
}

function lineOf({ id, description, status, default: isDefault, capabilities, providers = [] }: ListedAgent): string {
  const notes = [
    ...(isDefault ? ['the default'] : []),
    ...(status === 'ready' ? [] : [status]),
    ...(capabilities.length > 0 ? [`can ${capabilities.join(', ')}`] : []),
    ...(providers.length > 0 ? [`providers ${providers.map((provider) => provider.id).join(', ')}`] : []),
  ]
  return shortened(
    `- ${id}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}${description === undefined ? '' : `: ${oneLine(description)}`}`,
  )
}

/** Joins the lines of a description. It is foreign text and must not look like another entry of the list. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

function shortened(line: string): string {
  return line.length <= maxCharacters ? line : `${line.slice(0, maxCharacters - 1).toWellFormed()}…`
}

const order: readonly string[] = [
  '1. agents_discover: the list as it is now, with providers and models to choose from.',
  '2. tasks_delegate for one prompt; or sessions_create, sessions_prompt for each prompt, sessions_close for a conversation. The agent knows only what the prompt says.',
  '3. A status running or queued means that the work goes on: ask tasks_status with the requestId and waitMs. tasks_list finds a lost requestId.',
  '4. awaiting-approval or awaiting-tools: send answers to pending with sessions_prompt.',
  'An error says in next what to do; repeat a call only if it is retryable, with the same requestId.',
]
