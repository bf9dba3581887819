import { defineTool, type Tool } from '@bowline/agent-loop'
import type { JSONSchema7 } from '@bowline/llm'
import { lastTextOf } from '../writer/run-messages.ts'
import { isSettled, isTerminal } from '../contract/run-status.ts'
import type { RunRecord } from '../contract/records.ts'
import type { ChildContext } from './child-context.ts'
import { isTaskId } from '../contract/child-keys.ts'

const defaultTimeoutMs = 60_000
const longestTimeoutMs = 600_000
const maxTextCharacters = 20_000

const taskId: JSONSchema7 = { type: 'string', description: 'As the launch of the task has given it.' }
const outputSchema: JSONSchema7 = {
  type: 'object',
  properties: {
    task_id: taskId,
    block: { type: 'boolean', description: 'True: wait until the task has ended.' },
    timeout: { type: 'integer', minimum: 1, maximum: longestTimeoutMs, description: 'How long to wait, in milliseconds. Default 60000.' },
  },
  required: ['task_id'],
  additionalProperties: false,
}
const cancelSchema: JSONSchema7 = { type: 'object', properties: { task_id: taskId }, required: ['task_id'], additionalProperties: false }

interface OutputInput {
  readonly task_id: string
  readonly block?: boolean
  readonly timeout?: number
}

/** Returns the tools with which an agent manages the background tasks of this session. */
export function backgroundTools(context: ChildContext, sessionKey: string): readonly Tool[] {
  const output = defineTool({
    name: 'background_output',
    description: 'Tells how far a background task has come, and its result once it has ended.',
    effect: 'pure',
    inputSchema: outputSchema,
    async execute(input, { abortSignal }) {
      const { task_id, block = false, timeout = defaultTimeoutMs } = input as unknown as OutputInput
      const task = await findTask(context, sessionKey, task_id)
      if (block && !isSettled(task)) await context.waitForTask(task, timeout, abortSignal)
      return { output: await describe(context, await findTask(context, sessionKey, task_id)) }
    },
  })
  const cancel = defineTool({
    name: 'background_cancel',
    description: 'Stops a background task. One that has ended stays as it is.',
    effect: 'idempotent',
    inputSchema: cancelSchema,
    async execute(input) {
      const { task_id } = input as unknown as OutputInput
      const task = await findTask(context, sessionKey, task_id)
      if (!isTerminal(task.status)) await context.stopChild(task)
      const { id, agent, status } = await describe(context, await findTask(context, sessionKey, task_id))
      return { output: { id, agent, status } }
    },
  })
  return [output, cancel]
}

/** Finds a task of this session only. The model sees the error. */
async function findTask({ store }: ChildContext, sessionKey: string, id: string): Promise<RunRecord> {
  if (!isTaskId(id)) throw new Error(`${JSON.stringify(id)} is not a task id. A task id is bg_ and 32 hexadecimal digits.`)
  let page: string | undefined
  do {
    const children = await store.listChildren({ parent: { session: sessionKey }, limit: 1000, ...(page === undefined ? {} : { page }) })
    const found = children.items.find((run) => run.parent?.taskId === id)
    if (found) return found
    page = children.next
  } while (page !== undefined)
  throw new Error(`This conversation has no background task ${id}, or the task was removed.`)
}

type TaskReport = {
  readonly id: string
  readonly agent: string
  readonly status: string
  readonly text: string
  readonly error: string | null
}

async function describe({ store }: ChildContext, task: RunRecord): Promise<TaskReport> {
  const { status, parent, error } = task
  const text = isTerminal(status) ? cut(await lastTextOf(store, task)) : ''
  return { id: parent?.taskId ?? '', agent: parent?.path.at(-1) ?? '', status, text, error: error?.message ?? null }
}

function cut(text: string): string {
  if (text.length <= maxTextCharacters) return text
  return `${text.slice(0, maxTextCharacters)}\n[${text.length - maxTextCharacters} more characters are left out]`
}
