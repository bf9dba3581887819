import type { Script, Step } from '@bowline/llm/testing'

const words = 'The knot holds under any load, Grüße 世界 🌍, and is easy to untie. '

/** Returns the final answer of the model to a question: the same in every process, and different for each number. */
export function answerTo(number: number): string {
  return `${number}: ${words.repeat(1 + ((number * 7919) % 23))}`
}

const everyFourth = 4

/** Answers in turn: plain, with reasoning, after a server tool, and after a client tool. */
export const answering: Script = ({ prompt }) => {
  const number = numberIn(prompt)
  const isAnswered = prompt.at(-1)?.role === 'tool'
  const answer: Step = { text: answerTo(number), chunk: 1 + (number % 24), ...(number % 3 === 0 && { deltaDelayMs: 1 }) }
  switch (number % everyFourth) {
    case 0:
      return answer
    case 1:
      return { ...answer, reasoning: `Thinking about ${number}. ` }
    default: {
      const name = number % everyFourth === 2 ? 'look' : 'where'
      return isAnswered ? answer : { toolCalls: [{ id: `call-${number}`, name, input: { number } }] }
    }
  }
}

export function question(number: number): string {
  return `Question ${number}`
}

function numberIn(prompt: readonly unknown[]): number {
  return Number(/Question (\d+)/.exec(JSON.stringify(prompt))?.[1])
}
