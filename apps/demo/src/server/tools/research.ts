import { defineTool } from '@bowline/agent-loop'
import { z } from 'zod'
import { toolLabel } from '../../tool-labels.ts'
import type { ToolEnvironment } from './tool-environment.ts'

const searchMs = 1200
const readMs = 1600

const says = [
  'it is older than writing, and every seafaring people has its own name for it',
  'half of its strength is in how it is drawn tight',
  'whoever ties it in the dark, ties it well',
  'the best of them come loose after the heaviest load',
] as const

export function searchLibrary({ pace }: ToolEnvironment) {
  return defineTool({
    name: 'search_library',
    label: toolLabel('search_library'),
    description: 'Looks a topic up in the catalogue and gives the titles of pages.',
    inputSchema: z.object({ topic: z.string().min(1).max(60) }),
    effect: 'pure',
    async execute({ topic }, { abortSignal }) {
      await pace.wait(searchMs, abortSignal)
      return { output: { topic, pages: [`A short history of ${topic}`, `${topic}: a handbook`, `What sailors say about ${topic}`] } }
    },
  })
}

export function readPage({ pace }: ToolEnvironment) {
  return defineTool({
    name: 'read_page',
    label: toolLabel('read_page'),
    description: 'Reads a page of the library. Read several with several calls in one answer.',
    inputSchema: z.object({ page: z.string().min(1).max(120) }),
    effect: 'pure',
    async execute({ page }, { abortSignal }) {
      await pace.wait(readMs + page.length * 20, abortSignal)
      return { output: { page, says: says[page.length % says.length] ?? says[0] } }
    },
  })
}
