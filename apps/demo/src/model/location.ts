import { fieldsOf, textIn } from './intent.ts'
import type { Intent, ToolAnswer } from './intent.ts'

export const location: Intent = {
  name: 'location',
  keyWords: /\bwhere\b.*\b(am i|are we)\b|\bmy (place|location)\b/i,
  answer({ results }) {
    const result = results.at(-1)
    if (!result) {
      return [
        { type: 'text', text: 'Only your browser knows. I ask it.' },
        { type: 'call', toolName: 'get_location', input: {} },
      ]
    }
    return [{ type: 'text', text: describe(result) }]
  },
}

function describe(result: ToolAnswer): string {
  const place = placeOf(result.value)
  if (result.outcome === 'result' && place) return `You are at **${place}**. Mind the tide.`
  return 'Your browser keeps the place to itself, and that is fine. Ask again when you want to share it.'
}

function placeOf(value: unknown): string {
  return textIn(value) || textIn(fieldsOf(value)['place'])
}
