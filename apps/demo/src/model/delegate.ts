import { fieldsOf, reasonOf, textIn } from './intent.ts'
import type { Intent } from './intent.ts'

const tasks: Readonly<Record<string, string>> = {
  worker: 'How much rope does an eye splice in a rope of 12 mm need?',
  colleague: 'Give a second opinion: is a bowline good enough to climb on?',
}

/** Delegates a task to another agent through the bridge, and waits for its answer. */
export const delegate: Intent = {
  name: 'delegate',
  keyWords: /\bask (the |a |my )?(worker|colleague)\b/i,
  answer({ text, results }) {
    const agentId = /\bcolleague\b/i.test(text) ? 'colleague' : 'worker'
    const result = results.at(-1)
    if (!result) {
      const where = agentId === 'worker' ? 'a process of its own' : 'this process'
      return [
        { type: 'text', text: `The ${agentId} lives in ${where}. I ask it over the bridge.` },
        { type: 'call', toolName: 'delegate', input: { prompt: tasks[agentId], agentId } },
      ]
    }
    const { text: said, error } = fieldsOf(result.value)
    if (result.outcome === 'result') return [{ type: 'text', text: `The ${agentId} says:\n\n> ${textIn(said).replaceAll('\n', '\n> ')}` }]
    return [{ type: 'text', text: `The ${agentId} gave no answer: ${textIn(error) || reasonOf(result)}` }]
  },
}

/** Answer of the colleague, the agent that gives second opinions. */
export const opinion: Intent = {
  name: 'opinion',
  keyWords: /\bsecond opinion\b/i,
  answer: () => [
    {
      type: 'text',
      text: 'Tied well and with a stopper knot: yes. Most climbers still prefer the figure eight, because a wrong one is easier to see.',
    },
  ],
}
