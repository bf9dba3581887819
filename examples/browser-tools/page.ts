// The page with the tool that the agent calls. The agent on the server waits until the page answers.

import { createClient } from '@bowline/client'

const shown = document.querySelector('pre') as HTMLPreElement

const client = createClient({
  baseUrl: location.origin,
  tools: {
    page_title: {
      execute: () => ({ title: document.title, language: navigator.language }),
      effect: 'pure', // may run again after a reload of the page
    },
  },
})

async function ask(question: string): Promise<void> {
  shown.textContent = ''
  const run = client.session().send(question)
  for await (const event of run) {
    if (event.type === 'text-delta') shown.textContent += event.delta
    if (event.type === 'tool-execution-end') shown.textContent += `[${event.message.toolName}: answered by this page]\n`
  }
  const { status, error } = await run.result()
  shown.textContent += `\n${error?.message ?? status}`
}

document.querySelector('form')?.addEventListener('submit', (event) => {
  event.preventDefault()
  void ask(document.querySelector('input')?.value ?? '')
})
