import { defineExtension, defineGuardrail, defineTool } from '../../src/index.ts'
import type { Budget, Extension, HookName, Reservation } from '../../src/index.ts'
import type { BadKind } from './bad-values.ts'
import type { PlugIn } from './play-plug-in.ts'

/** The end of a turn, with the status of its call and of the compaction after it. */
export interface Ended {
  readonly end: string
  readonly call?: string
  readonly compaction?: string
}

/** A place where the user's code runs, and the required result if that code fails. */
export interface PlugInRow {
  readonly name: string
  /** Returns the plug-in whose function is `bad`. */
  readonly make: (bad: () => unknown) => PlugIn
  /** Source, name and hook of the `error` event of each failure. Absent: the end of the turn reports it. */
  readonly told?: readonly [source: string, name?: string, hook?: string]
  readonly fails: Ended
  /** Time limit of one answer. Absent: no limit, and an abort must end the wait. */
  readonly limitMs?: number
  /** The end of the turn if it is aborted before the answer. */
  readonly aborted?: Ended
  /** Values that are no failure here, and their result. */
  readonly accepts?: { readonly [Kind in BadKind]?: Ended }
}

/** The same as without the plug-in. */
const fine: Ended = { end: 'completed/stop', call: 'result', compaction: 'done' }
const aborted: Ended = { end: 'aborted/abort' }

/** Values that a function without a result may return without a failure. */
const ignored = { number: fine, text: fine, null: fine, array: fine, 'unknown keys': fine, 'number later': fine } as const

const deciding: readonly HookName[] = [
  'onInput',
  'beforeAgentStart',
  'transformContext',
  'beforeModelCall',
  'onToolCall',
  'onToolResult',
  'beforeCompaction',
]
const looking: readonly HookName[] = [
  ...([
    'onTurnStart',
    'onStepStart',
    'onStepEnd',
    'onModelRequest',
    'afterModelCall',
    'onToolSettled',
    'afterCompaction',
    'onRetryStart',
    'onRetryEnd',
  ] as const),
  ...(['onAgentEnd', 'onSavePoint', 'onSettled'] as const),
]
/** The turn has ended before these hooks: `onError: 'fail'` cannot end it any more. */
export const hooksAfterEnd: readonly HookName[] = ['beforeCompaction', 'afterCompaction', 'onAgentEnd', 'onSavePoint', 'onSettled']

export function extensionOf(hook: HookName, bad: () => unknown, options: Partial<Extension> = {}): Extension {
  return defineExtension({ ...options, name: 'bad', hooks: { [hook]: bad } })
}

const extensionRows: readonly PlugInRow[] = [...deciding, ...looking].map((hook) => ({
  name: `extension, ${hook}`,
  make: (bad) => ({ agent: { extensions: [extensionOf(hook, bad)] } }),
  told: ['extension', 'bad', hook],
  fails: hook === 'onToolCall' ? { ...fine, call: 'denied' } : fine,
  limitMs: 5_000,
  ...(looking.includes(hook) && { accepts: ignored }),
}))

/** The rows whose extension must end the turn with `onError: 'fail'`. */
export const failingHooks: readonly HookName[] = [...deciding, ...looking]

const guardrailRows: readonly PlugInRow[] = (['onTurnStart', 'onTurnEnd', 'beforeCall', 'afterCall'] as const).map((handler) => ({
  name: `guardrail, ${handler}`,
  make: (bad) => ({ agent: { guardrails: [defineGuardrail({ name: 'bad', [handler]: bad })] } }),
  told: ['guardrail', 'bad', handler],
  fails: handler === 'beforeCall' ? { ...fine, call: 'denied' } : fine,
  limitMs: 5_000,
  ...(handler.startsWith('onTurn') && { accepts: ignored }),
}))

const tool = { name: 'tool', description: 'does it', inputSchema: {}, effect: 'idempotent', execute: () => 'did it' } as const

/** The functions of the agent's owner. */
const ownerRows: readonly PlugInRow[] = [
  {
    name: 'prepareStep',
    make: (bad) => ({ agent: { prepareStep: bad as never } }),
    told: ['extension', 'prepareStep'],
    fails: { end: 'error/extension-error' },
    aborted,
  },
  {
    name: 'stopWhen',
    make: (bad) => ({ agent: { stopWhen: bad as () => boolean } }),
    told: ['extension', 'stopWhen'],
    fails: { end: 'error/extension-error', call: 'result' },
    aborted: { ...aborted, call: 'result' },
  },
  {
    name: 'ephemeral',
    make: (bad) => ({ agent: { ephemeral: bad as never } }),
    told: ['ephemeral'],
    fails: fine,
    limitMs: 5_000,
  },
  {
    name: 'retry.isRetryable',
    make: (bad) => ({ agent: { retry: { baseDelayMs: 0, jitter: 0, isRetryable: bad as () => boolean } } }),
    told: ['extension', 'retry.isRetryable'],
    fails: fine,
    limitMs: 0,
  },
  ...(['instructions', 'memory'] as const).map((section): PlugInRow => ({
    name: `prompt section, ${section}`,
    make: (bad) => ({ agent: { instructions: section === 'memory' ? { memory: bad as () => string } : (bad as () => string) } }),
    told: ['prompt', section === 'memory' ? 'memory' : 'identity'],
    fails: fine,
    limitMs: 30_000,
    accepts: { text: fine },
  })),
]

const modelFailed: Ended = { end: 'error/model-error' }

const otherRows: readonly PlugInRow[] = [
  {
    name: 'tool, needsApproval',
    make: (bad) => ({ agent: { tools: [defineTool({ ...tool, needsApproval: bad as () => boolean })] } }),
    told: ['tool', 'tool', 'needsApproval'],
    fails: { end: 'awaiting-approval/pending' },
    aborted: { ...aborted, call: 'cancelled' },
  },
  {
    name: 'onApproval',
    make: (bad) => ({
      agent: { tools: [defineTool({ ...tool, needsApproval: true })] },
      run: { onApproval: bad as () => Promise<undefined> },
    }),
    told: ['tool', 'tool', 'onApproval'],
    fails: { end: 'awaiting-approval/pending' },
    aborted: { ...aborted, call: 'cancelled' },
  },
  {
    name: 'tool, execute',
    make: (bad) => ({ agent: { tools: [defineTool({ ...tool, execute: bad as () => string })] } }),
    fails: { ...fine, call: 'error' },
    // Its own limit plus the grace.
    limitMs: 122_000,
    accepts: ignored,
  },
  {
    name: 'tool, toModelOutput',
    make: (bad) => ({ agent: { tools: [defineTool({ ...tool, toModelOutput: bad as never })] } }),
    fails: { ...fine, call: 'error' },
    limitMs: 122_000,
  },
  { name: 'model function', make: (bad) => ({ agent: { model: bad as never } }), fails: modelFailed, aborted },
  {
    name: 'compactor',
    make: (bad) => ({ agent: { compaction: { name: 'bad', compact: bad as never } } }),
    fails: { ...fine, compaction: 'failed' },
    aborted: { ...fine, compaction: 'cancelled' },
  },
  {
    name: 'compaction.facts',
    make: (bad) => ({ agent: { compaction: { reserveTokens: 1_000, keepRecentTokens: 1, facts: bad as never } } }),
    fails: { ...fine, compaction: 'failed' },
    limitMs: 0,
  },
]

const budget: Budget = { reserve: () => ({ settle: () => undefined }), charge: () => undefined, left: {} }

/** Reports a subagent of its own, whose usage is charged to budgets. */
const reporting = defineTool({
  ...tool,
  execute: (_input, { reportChild }) => {
    reportChild({ kind: 'start', childRunId: 'child', subagent: 'elsewhere' })
    reportChild({ kind: 'end', childRunId: 'child', status: 'completed', usage: { inputTokens: 5 } })
    return 'did it'
  },
})

/** `left` is also read when the run is made. A budget that throws at that time is a mistake of the caller. */
function budgetWithLeft(bad: () => unknown): Budget {
  let asked = 0
  return {
    ...budget,
    get left() {
      return asked++ === 0 ? {} : (bad() as Budget['left'])
    },
  }
}

const budgetRows: readonly PlugInRow[] = [
  {
    name: 'budget, reserve',
    make: (bad) => ({ run: { budget: { ...budget, reserve: bad as Budget['reserve'] } } }),
    told: ['extension', 'budget'],
    fails: { end: 'error/extension-error' },
    limitMs: 30_000,
  },
  {
    name: 'budget, settle of a reservation',
    make: (bad) => ({ run: { budget: { ...budget, reserve: () => ({ settle: bad as Reservation['settle'] }) } } }),
    told: ['extension', 'budget'],
    fails: fine,
    limitMs: 30_000,
    accepts: ignored,
  },
  {
    name: 'budget, charge',
    make: (bad) => ({ agent: { tools: [reporting] }, run: { budget: { ...budget, charge: bad as Budget['charge'] } } }),
    told: ['extension', 'budget'],
    fails: fine,
    limitMs: 30_000,
    accepts: ignored,
  },
  {
    name: 'budget, left',
    make: (bad) => ({ agent: { stopWhen: () => false }, run: { budget: budgetWithLeft(bad) } }),
    told: ['extension', 'stopWhen'],
    fails: { end: 'error/extension-error', call: 'result' },
    limitMs: 0,
    accepts: { 'unknown keys': fine },
  },
]

/** Creates a tool whose input is validated by a Standard Schema of the user. */
function checkedBy(validate: () => unknown): PlugIn {
  const jsonSchema = { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) }
  const inputSchema = { '~standard': { version: 1, vendor: 'bad', validate, jsonSchema } } as never
  return { agent: { tools: [defineTool({ ...tool, inputSchema })] } }
}

const schemaRows: readonly PlugInRow[] = [
  {
    name: 'Standard Schema, validate',
    make: checkedBy,
    fails: { ...fine, call: 'error' },
    aborted: { ...aborted, call: 'cancelled' },
  },
  {
    name: 'Standard Schema, the value',
    make: (bad) => checkedBy(() => ({ value: bad() })),
    fails: { ...fine, call: 'error' },
    limitMs: 0,
    accepts: { number: fine, text: fine, null: fine, array: fine, 'unknown keys': fine },
  },
  {
    name: 'Standard Schema, the issues',
    make: (bad) => checkedBy(() => ({ issues: bad() })),
    fails: { ...fine, call: 'error' },
    limitMs: 0,
  },
]

export const plugInRows: readonly PlugInRow[] = [
  ...[...extensionRows, ...guardrailRows, ...ownerRows, ...otherRows, ...budgetRows],
  ...schemaRows,
]
