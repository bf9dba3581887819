import { phrases } from '../phrases.ts'
import type { Intent } from './intent.ts'

const list = phrases.map(({ say, see }) => `- **${say}**: ${see}`).join('\n')

/** Answers every text that no other intent matches. */
export const fallback: Intent = {
  name: 'fallback',
  keyWords: /^/,
  answer: () => [
    {
      type: 'text',
      text: `I am the offline model: no key, no network, and only a handful of things that I understand. Try one of these:\n\n${list}`,
    },
  ],
}
