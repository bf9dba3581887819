import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineTool } from '@bowline/agent-loop'
import type { JSONObject } from '@bowline/llm'
import type { OrchestrationConfig } from '@bowline/sessions'
import { z } from 'zod'
import { toolLabel } from '../../tool-labels.ts'
import type { ToolEnvironment } from './tool-environment.ts'

const delayMs = 700

/** A background task may end during a plan. */
const always = 'background_*'

const planning = [
  { type: 'step_is', value: 'look' },
  { type: 'step_is', value: 'write' },
  { type: 'step_is', value: 'review' },
] as const

/** Tools of each step of the plan. A message about another topic ends an unfinished plan. */
export const planSteps: OrchestrationConfig = {
  steps: [
    {
      name: 'free',
      description: 'Nothing is being planned.',
      conditions: [
        { any: [{ all: [{ any: planning }, { not: { type: 'message_contains', value: 'plan' } }] }, used('review', 'plan_review')] },
      ],
      tools: { deny: ['plan_tide', 'plan_crew', 'plan_write', 'plan_review'] },
    },
    {
      name: 'look',
      description: 'Find out what is possible.',
      conditions: [{ type: 'tool_used', value: 'plan_start', since: 'step' }],
      tools: { allow: ['plan_tide', 'plan_crew', always] },
    },
    {
      name: 'write',
      description: 'Write the plan down.',
      conditions: [used('look', 'plan_tide'), used('look', 'plan_crew')],
      tools: { allow: ['plan_write', always] },
    },
    {
      name: 'review',
      description: 'Look at it once more.',
      conditions: [used('write', 'plan_write')],
      tools: { allow: ['plan_review', always] },
    },
  ],
}

function used(step: string, tool: string) {
  return {
    all: [
      { type: 'step_is', value: step },
      { type: 'tool_used', value: tool, since: 'step' },
    ],
  } as const
}

export function planTools({ pace, dataFolder }: ToolEnvironment) {
  const plan = <Schema extends z.ZodObject>(
    name: string,
    description: string,
    inputSchema: Schema,
    output: (input: z.output<Schema>) => JSONObject | Promise<JSONObject>,
  ) =>
    defineTool({
      name,
      label: toolLabel(name),
      description,
      inputSchema,
      effect: 'idempotent' as const,
      async execute(input, { abortSignal }) {
        await pace.wait(delayMs, abortSignal)
        return { output: await output(input as z.output<Schema>) }
      },
    })
  return [
    plan(
      'plan_start',
      'Begins a plan. After it the tools that look at tide and crew are there.',
      z.object({ goal: z.string().min(1).max(200) }),
      ({ goal }) => ({ goal }),
    ),
    plan('plan_tide', 'When the water is high today.', z.object({}), () => ({ highWater: '09:40' })),
    plan('plan_crew', 'How many hands there are.', z.object({}), () => ({ crew: 4 })),
    plan(
      'plan_write',
      'Writes the plan down.',
      z.object({ goal: z.string().min(1).max(200), steps: z.array(z.string().max(300)).min(1).max(12) }),
      async ({ goal, steps }) => {
        await writeFile(join(dataFolder, 'plan.json'), JSON.stringify({ goal, steps }, null, 2))
        return { steps: steps.length }
      },
    ),
    plan('plan_review', 'Looks at the plan that was written and says whether it holds.', z.object({}), () => ({ verdict: 'it holds' })),
  ]
}
