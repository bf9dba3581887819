import type { Phrase } from '@bowline/studio/info'

/** What the offline model understands, in the order in which the page offers it. */
export const phrases: readonly Phrase[] = [
  { say: 'tell me a story', see: 'reasoning, then streamed Markdown with a table and code' },
  { say: 'what is the weather in Oslo and Lima', see: 'two tools in parallel, one slower than the other' },
  { say: 'index the docs', see: 'a long tool with a progress bar and a log' },
  { say: 'where am I', see: 'a remote tool: the run waits for your browser and then goes on' },
  { say: 'pay the invoice', see: 'a tool that must run once: kill the server in the middle' },
]
