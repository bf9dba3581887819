import { defineAgent } from '@bowline/agent-loop'
import type { AgentOptions, Extension, Tool } from '@bowline/agent-loop'
import { createModels } from '@bowline/llm'
import type { ModelInfo } from '@bowline/llm'
import type { ModelChoice } from './choose-model.ts'
import { colleagueName } from './demo-bridge.ts'
import { deleteReport } from './tools/delete-report.ts'
import { getLocation } from './tools/get-location.ts'
import { getWeather } from './tools/get-weather.ts'
import { indexDocs } from './tools/index-docs.ts'
import { payInvoice } from './tools/pay-invoice.ts'
import { planTools } from './tools/plan.ts'
import { readLogbook } from './tools/read-logbook.ts'
import { readPage, searchLibrary } from './tools/research.ts'
import type { ToolEnvironment } from './tools/tool-environment.ts'

export const demoAgentName = 'demo'

const instructions = `You are the agent of the Bowline demo. Answer in Markdown, friendly and short.
Use the tools when the request fits one of them: get_weather once per city, all calls in one answer; index_docs for
indexing; get_location when somebody asks where they are; delete_report for reports such as q3-draft; delegate_to_researcher
with run_in_background for research, and background_output when a background task has ended; delegate for a worker or a colleague;
for a plan plan_start, then what it offers, step by step; read_logbook for a long talk, one volume after the other; pay_invoice
to pay invoice 2041 over 120.00 EUR.
Never claim that something was paid or deleted unless the tool said so.`

const retryDelayMs = 2_000

/** The context window is so small that one long talk fills it. The prices are invented. */
const offlineInfo: ModelInfo = {
  contextWindow: 12_000,
  maxOutputTokens: 2_000,
  price: { currency: 'USD', input: '1', output: '4' },
}

/** Time limit of a turn. A slow answer exceeds it. */
const offlineTurnMs = 30_000

export interface DemoParts extends ToolEnvironment {
  /** Factor on the delays of retries. */
  readonly speed: number
  /** Maximum random share by which delays of retries grow. Default: that of the loop. */
  readonly jitter?: number
  /** Delegates work to other agents. */
  readonly delegate: Tool
  readonly orchestration: Extension
  /** Records the requests to models. */
  readonly requests: Extension
}

/** Creates the agent of the page, and the agent that gives it second opinions. */
export function createDemoAgents(choice: ModelChoice, { speed, jitter, delegate, orchestration, requests, ...environment }: DemoParts) {
  const model = modelOf(choice, speed, jitter)
  const researcher = defineAgent({
    ...model,
    name: 'researcher',
    description: 'Finds out what the library has about a topic. Takes a few seconds: run it in the background.',
    instructions:
      'Look the topic up with search_library, read the pages with read_page, all calls in one answer, and say in a few lines what they say.',
    tools: [searchLibrary(environment), readPage(environment)],
    extensions: [requests],
  })
  const demo = defineAgent({
    ...model,
    name: demoAgentName,
    description: 'Tells stories, knows a little weather, indexes documents, plans, pays an invoice, and asks people and other agents.',
    instructions,
    tools: [
      ...[getWeather(environment), indexDocs(environment), getLocation(), deleteReport(environment), delegate],
      ...[...planTools(environment), readLogbook(environment), payInvoice(environment)],
    ],
    subagents: [researcher],
    extensions: [orchestration, requests],
  })
  const colleague = defineAgent({
    ...model,
    name: colleagueName,
    description: 'Gives a second opinion.',
    instructions: 'Give your opinion in two sentences.',
  })
  return [demo, colleague] as const
}

/** Refers to the model by name, so that its context window and prices are known. */
function modelOf(
  { model, spare, offline }: ModelChoice,
  speed: number,
  jitter?: number,
): Pick<AgentOptions, 'model' | 'models' | 'fallback' | 'retry' | 'limits' | 'compaction'> {
  const provider = model.provider.split('.')[0] ?? model.provider
  const models = createModels({
    providers: { [provider]: (modelId: string) => (modelId === spare?.modelId ? spare : model) },
    ...(offline && { models: { [`${provider}:*`]: offlineInfo } }),
  })
  const retry = { baseDelayMs: retryDelayMs * speed, ...(jitter !== undefined && { jitter }) }
  const named = { models, model: `${provider}:${model.modelId}` }
  if (!offline) return { ...named, retry }
  return {
    ...named,
    fallback: spare ? [`${provider}:${spare.modelId}`] : [],
    retry: { ...retry, maxRetries: 2 },
    limits: { maxDurationMs: offlineTurnMs * Math.max(1, speed) },
    compaction: { reserveTokens: 5_500, keepRecentTokens: 1_500 },
  }
}
