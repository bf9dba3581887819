import { fieldsOf, reasonOf, textIn } from './intent.ts'
import type { Intent, Passage, ToolAnswer } from './intent.ts'

const pages = 3

/** Delegates the work to a subagent and continues without it. */
export const research: Intent = {
  name: 'research',
  keyWords: /\bresearch\b/i,
  answer({ text, results }) {
    const topic = topicIn(text)
    const result = results.at(-1)
    if (!result) {
      const input = { prompt: `Find out what the library has about ${topic}.`, description: `research ${topic}`, run_in_background: true }
      return [
        { type: 'text', text: 'I send the researcher to the library, and do not wait.' },
        { type: 'call', toolName: 'delegate_to_researcher', input },
      ]
    }
    if (result.outcome !== 'result') return [{ type: 'text', text: `The researcher could not be sent: ${reasonOf(result)}` }]
    return [{ type: 'text', text: 'The researcher is on its way. Ask me something else meanwhile; I tell you what it finds.' }]
  },
}

/** Reports that a background task has ended. The notice of the runtime has the role of a user message. */
export const news: Intent = {
  name: 'news',
  keyWords: /^<background-task id="/,
  answer({ text, results }) {
    if (results.length > 0) return [{ type: 'text', text: results.map(report).join('\n\n') }]
    const ids = [...text.matchAll(/<background-task id="([^"]+)"/g)].map(([, id = '']) => id)
    return ids.map((task_id): Passage => ({ type: 'call', toolName: 'background_output', input: { task_id } }))
  },
}

/** Turn of the researcher in its own session. */
export const library: Intent = {
  name: 'library',
  keyWords: /\bthe library has about\b/i,
  answer({ text, results }) {
    const topic = topicIn(text)
    if (results.length === 0) {
      return [
        { type: 'text', text: `I look ${topic} up in the catalogue.` },
        { type: 'call', toolName: 'search_library', input: { topic } },
      ]
    }
    const found = results.filter(({ toolName }) => toolName === 'read_page')
    if (found.length > 0) return [{ type: 'text', text: findings(topic, found) }]
    const titles = fieldsOf(results[0]?.value)['pages']
    const names = Array.isArray(titles) ? titles.filter((title) => typeof title === 'string').slice(0, pages) : []
    if (names.length === 0) return [{ type: 'text', text: `The library has nothing about ${topic}.` }]
    return names.map((page): Passage => ({ type: 'call', toolName: 'read_page', input: { page } }))
  },
}

function topicIn(text: string): string {
  return /\b(?:research|about)\s+([\p{L}\p{N}' -]{1,60})/iu.exec(text)?.[1]?.trim() || 'knots'
}

function findings(topic: string, found: readonly ToolAnswer[]): string {
  const lines = found.map(({ outcome, value }) => {
    const { page, says } = fieldsOf(value)
    return outcome === 'result' ? `- *${textIn(page)}*: ${textIn(says)}` : `- one page could not be read`
  })
  return [`What ${found.length} pages say about ${topic}:`, '', ...lines].join('\n')
}

function report(result: ToolAnswer): string {
  const { agent, status, text, error } = fieldsOf(result.value)
  if (result.outcome !== 'result') return `I could not read what was found: ${reasonOf(result)}`
  if (status !== 'completed')
    return `The ${textIn(agent) || 'helper'} did not finish (${textIn(status)})${typeof error === 'string' ? `: ${error}` : '.'}`
  return `The ${textIn(agent)} is back.\n\n${textIn(text)}`
}
