import type { Phrase } from '@bowline/studio/info'

/** Phrases of the offline model, in the order of the page. */
export const phrases: readonly Phrase[] = [
  { say: 'tell me a story', see: 'reasoning, then streamed Markdown with a table and code' },
  { say: 'what is the weather in Oslo and Lima', see: 'two tools in parallel, one slower than the other' },
  { say: 'index the docs', see: 'a long tool with a progress bar and a log' },
  { say: 'where am I', see: 'a remote tool: the run waits for your browser and then goes on' },
  { say: 'delete the report', see: 'an approval: approve, edit and approve, deny, or type something else' },
  { say: 'research knots', see: 'a child run in the background; its answer returns as a notification' },
  { say: 'ask the worker', see: 'delegation over the bridge to a worker process ("ask the colleague": to an agent of the same process)' },
  { say: 'make a plan', see: 'orchestration: steps shown as a track, other tools in each step' },
  { say: 'long talk', see: 'a full context, then compaction with before and after' },
  { say: 'pay the invoice', see: 'a tool that must run once: kill the server in the middle' },
  { say: 'fail', see: 'a provider error with retries, then the fallback model' },
  { say: 'be slow', see: 'a slow answer: stop it, or let the turn run out of time' },
]
