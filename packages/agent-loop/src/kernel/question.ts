import type { Decimal, JSONSchema7, JSONValue } from '@bowline/llm'
import { hashJson } from '../base/hash-json.ts'
import type { IdSource } from '../base/ids.ts'
import type { CallRow, OpenTurn } from '../contract/journal.ts'
import type { BudgetAmounts, BudgetEstimate, BudgetGrant } from '../contract/run.ts'
import { buildTool } from '../tools/tool.ts'
import { isSettled } from './call.ts'
import type { Call } from './call.ts'

const questionName = 'budget'

const amounts: JSONSchema7 = { type: 'object', properties: { tokens: { type: 'number' }, cost: { type: 'number' } } }

/**
 * The JSON Schema of the input of an approval request about a budget: the amounts to grant. Its default is the amount that the
 * call needs.
 */
export const grantSchema: JSONSchema7 = {
  type: 'object',
  properties: {
    tokens: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Input and output together.' },
    cost: {
      anyOf: [
        { type: 'string', pattern: '^\\d{1,12}(\\.\\d{1,15})?$' },
        { type: 'number', minimum: 0, maximum: 1e12 },
      ],
      description: 'In the currency of the prices.',
    },
    budgets: {
      type: 'array',
      description: 'Where each budget of the run stands. It says why this is asked, and grants nothing.',
      items: { type: 'object', properties: { name: { type: 'string' }, left: amounts, spent: amounts, reserved: amounts } },
    },
  },
  additionalProperties: false,
}

const questionTool = buildTool({
  name: questionName,
  description: 'More for the budgets of the run. Granting nothing tries again.',
  inputSchema: grantSchema,
})

/** The state of one budget, as the question shows it. */
export interface Standing {
  readonly name: string
  readonly left: BudgetAmounts
  readonly spent?: BudgetAmounts
  readonly reserved?: BudgetAmounts
}

interface Asked {
  readonly tokens: number
  readonly cost?: string
  readonly budgets: readonly Standing[]
}

interface Place {
  readonly runId: string
  readonly step: number
  readonly ids: IdSource
  /** The previous question. */
  readonly question: Call | undefined
}

/** Returns a new question of the current step. */
export function askForMore({ runId, step, ids, question }: Place, { tokens, cost }: BudgetEstimate, budgets: readonly Standing[]): Call {
  const asked: Asked = { tokens, ...(cost && { cost: cost.total }), budgets }
  const input = asked as unknown as JSONValue
  const inputHash = hashJson(input)
  const approvalId = ids.next('approval')
  const toolCallId = `${questionName}-${approvalId}`
  return callOf(
    {
      runId,
      step,
      toolCallId,
      toolName: questionName,
      about: 'budget',
      index: (question?.row.index ?? -1) + 1,
      state: 'pending',
      effect: 'pure',
      attempt: 0,
      idempotencyKey: `${runId}/${step}/${toolCallId}`,
      inputHash,
      input,
      approval: { approvalId, state: 'requested', input, inputHash },
    },
    undefined,
  )
}

/** Returns the latest question about the budget of the open step, unless it was granted and has had its effect. */
export function openQuestion(open: OpenTurn): Call | undefined {
  const row = open.calls.findLast(({ about }) => about !== undefined)
  return row && (row.state === 'pending' || row.state === 'denied') ? callOf(row, row) : undefined
}

function callOf(row: CallRow, written: CallRow | undefined): Call {
  const { toolCallId, toolName, input = {} } = row
  return {
    part: { type: 'tool-call', toolCallId, toolName, input },
    tool: questionTool,
    row,
    written,
    input,
    running: false,
    entering: false,
    below: undefined,
  }
}

export function isOpen(question: Call | undefined): question is Call {
  return question !== undefined && !isSettled(question)
}

/** Returns the amount that the decision grants. */
export function grantOf({ row }: Call): BudgetGrant {
  const { tokens, cost } = row.input as unknown as BudgetGrant
  // As text, a small number would have an exponent.
  const amount = typeof cost === 'number' ? (cost.toFixed(9) as Decimal) : cost
  return { ...(tokens !== undefined && { tokens }), ...(amount !== undefined && { cost: amount }) }
}

/** Returns whether there were too few tokens when it was asked. */
export function lacksTokens({ row }: Call): boolean {
  const { tokens, budgets } = (row.approval?.input ?? { tokens: 0, budgets: [] }) as unknown as Asked
  return budgets.some(({ left }) => left.tokens !== undefined && tokens > left.tokens)
}
