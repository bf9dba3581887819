import { reasonOf } from './intent.ts'
import type { Intent } from './intent.ts'

export const indexDocs: Intent = {
  name: 'index-docs',
  keyWords: /\bindex\b/i,
  answer({ results }) {
    const result = results.at(-1)
    if (!result) {
      return [
        { type: 'text', text: 'I go through the documents one by one. You can watch, close this tab, or kill the server.' },
        { type: 'call', toolName: 'index_docs', input: { folder: 'docs' } },
      ]
    }
    return [{ type: 'text', text: isIndex(result.value) ? summary(result.value) : `The index is not complete: ${reasonOf(result)}` }]
  },
}

interface Index {
  readonly files: number
  readonly words: number
}

function isIndex(value: unknown): value is Index {
  return typeof value === 'object' && value !== null && 'files' in value && 'words' in value
}

function summary(index: Index): string {
  return `Done. The index holds **${index.files} documents** with ${index.words.toLocaleString('en')} words.`
}
