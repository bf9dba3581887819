import { fieldsOf, reasonOf, textIn } from './intent.ts'
import type { Intent, Passage } from './intent.ts'

const goal = 'a day trip around the island'

/** Performs the plan step by step, each with the tools that its orchestration step allows. */
export const plan: Intent = {
  name: 'plan',
  keyWords: /\bplan\b/i,
  answer({ results }) {
    const refused = results.find(({ outcome }) => outcome !== 'result')
    if (refused) return [{ type: 'text', text: `The plan stops at \`${refused.toolName}\`: ${reasonOf(refused)}` }]
    const valueOf = (name: string) => fieldsOf(results.findLast(({ toolName }) => toolName === name)?.value)
    const done = new Set(results.map(({ toolName }) => toolName))
    if (!done.has('plan_start')) return say(`I plan ${goal}: look first, then write, then check.`, call('plan_start', { goal }))
    if (!done.has('plan_tide')) return say('What do tide and crew allow?', call('plan_tide', {}), call('plan_crew', {}))
    const { highWater } = valueOf('plan_tide')
    const { crew } = valueOf('plan_crew')
    const steps = [
      `cast off at high water, ${textIn(highWater) || 'whenever that is'}`,
      `${typeof crew === 'number' ? crew : 'all'} hands on deck around the cape`,
      'lunch at anchor in the lee',
      'home with the last of the flood',
    ]
    if (!done.has('plan_write')) return say('Now I write it down.', call('plan_write', { goal, steps }))
    if (!done.has('plan_review')) return say('And look at it once more.', call('plan_review', {}))
    const { verdict } = valueOf('plan_review')
    return say(
      [
        `The plan for ${goal}:`,
        '',
        ...steps.map((step, place) => `${place + 1}. ${step}`),
        '',
        `Review: ${textIn(verdict) || 'no verdict'}.`,
      ].join('\n'),
    )
  },
}

function say(text: string, ...calls: readonly Passage[]): readonly Passage[] {
  return [{ type: 'text', text }, ...calls]
}

function call(toolName: string, input: Readonly<Record<string, unknown>>): Passage {
  return { type: 'call', toolName, input }
}
