import { defineAgent } from '@bowline/agent-loop'
import type { LanguageModelV4 } from '@bowline/llm'
import { getLocation } from './tools/get-location.ts'
import { getWeather } from './tools/get-weather.ts'
import { indexDocs } from './tools/index-docs.ts'
import { payInvoice } from './tools/pay-invoice.ts'
import type { ToolSurroundings } from './tools/surroundings.ts'

export const demoAgentName = 'demo'

const instructions = `You are the agent of the Bowline demo. Answer in Markdown, friendly and short.
Use the tools when the request fits one of them: get_weather once per city, all calls in one answer; index_docs for
indexing; get_location when somebody asks where they are; pay_invoice to pay invoice 2041 over 120.00 EUR.
Never claim that something was paid unless the tool said so.`

const retryDelayMs = 2_000

/** `speed` is a factor on the delays of retries. */
export function createDemoAgent(model: LanguageModelV4, surroundings: ToolSurroundings, speed: number) {
  return defineAgent({
    name: demoAgentName,
    description: 'Tells stories, knows a little weather, indexes documents, asks your browser for a place, pays an invoice.',
    model,
    instructions,
    retry: { baseDelayMs: retryDelayMs * speed },
    tools: [getWeather(surroundings), indexDocs(surroundings), getLocation(), payInvoice(surroundings)],
  })
}
