import { resolveSchema } from '@bowline/llm'
import type { AssistantMessage, FunctionTool, JSONValue, SchemaIssue, SchemaResult, ToolSchema } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { copyJson, isRecord } from '../../base/json.ts'
import { clientCalls, findOutput, textOf } from '../../base/messages.ts'
import type { MaybePromise } from '../../base/promises.ts'
import type { Tool } from '../../contract/agent.ts'
import type { DeltaEvent } from '../../events/agent-event.ts'
import { outputToolName } from '../../events/output.ts'
import type { OutputMode } from '../../events/output.ts'
import type { Window } from '../../events/turn-events.ts'
import { modelWouldStop } from '../../kernel/ending.ts'
import type { TurnOutcome } from '../../kernel/ending.ts'
import { placeInput } from '../../kernel/enter.ts'
import { turnState } from '../../kernel/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { Declarations, OutputSetting } from '../../kernel/run-context.ts'
import type { Answered, EndedCall, EndedStep, RequestDraft } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'
import { errorOutcome } from '../../tools/outcome.ts'
import { cutMiddle } from '../../tools/output.ts'
import { buildTool } from '../../tools/tool.ts'
import { JsonReader } from './json-reader.ts'

const shownCharacters = 2_000

/** The block in which the model writes its final answer now, and its reader. */
interface OutputState {
  reader: JsonReader | undefined
  index: number
}

const stateOf = turnState<OutputState>(() => ({ reader: undefined, index: 0 }))

/** Requests the final answer as JSON of a schema, reads it while it is written, and shows the model what is wrong with it. */
export function outputPlugin(setting: OutputSetting): Plugin {
  return {
    name: 'output',
    hooks: {
      beforeAttempt: (turn) => chooseMode(turn, setting),
      request: (turn, request) => askForOutput(turn, setting, request),
      answer: (turn, answered) => readAnswer(turn, setting, answered),
      outcome: (_turn, ended) => (ended.call.row.toolName === outputToolName ? checkOutcome(setting, ended) : undefined),
      afterStep: (turn, step) => judge(turn, setting, step),
      onDelta: readDelta,
    },
  }
}

/**
 * Shows the model what is wrong with its answer. It is a plug-in of its own, because it must be asked before the plug-ins that add
 * other inputs.
 */
export function repairPlugin(setting: OutputSetting): Plugin {
  return { name: 'output-repair', hooks: { drain: (turn, slot) => askAgain(turn, setting, slot) } }
}

/** Creates the tool by which a model may give its answer. Its call ends the turn. */
export function outputTool({ schema }: Pick<OutputSetting, 'schema'>): Tool {
  return buildTool({
    name: outputToolName,
    description: 'Gives the final answer. Call it alone, once the answer is complete.',
    inputSchema: schema,
    effect: 'pure',
    execute: (output) => ({ output: 'accepted', details: { output }, terminate: true }),
  })
}

/** Returns an outcome if the schema cannot be used. */
async function chooseMode(turn: Turn, { schema }: OutputSetting): Promise<TurnOutcome | undefined> {
  turn.outputMode = modeOf(turn)
  try {
    const { jsonSchema } = await resolveSchema(schema)
    if (jsonSchema.type === 'object') return undefined
    return failed('invalid-config', 'output must be the schema of an object; put a value of another type into a property of an object')
  } catch (error) {
    return failed('invalid-config', `output: ${messageOf(error)}`)
  }
}

/** Returns how the model is asked. An unknown model is asked by a tool: nearly every model that can be an agent has tools. */
function modeOf({ model, agent }: Turn): OutputMode {
  if (model.kind === 'function') return 'prompt'
  const known = model.info.structuredOutput ?? 'tool'
  return known === 'tool' && agent.toolChoice === 'none' ? 'prompt' : known
}

async function askForOutput(turn: Turn, { schema, declaration }: OutputSetting, request: RequestDraft): Promise<void> {
  const { jsonSchema } = await resolveSchema(schema)
  switch (turn.outputMode) {
    case 'json-schema':
      request.output = { type: 'json', schema: jsonSchema, name: 'output' }
      return
    case 'tool':
      // If the step offers only some tools, this tool is offered too.
      if (turn.activeTools) turn.activeTools = new Set([...turn.activeTools, outputToolName])
      request.tools = withTool(request.tools, declaration)
      if (findOutput(turnMessages(turn)).failures > 0) request.toolChoice = { toolName: outputToolName }
      return
    default:
      request.instructions =
        `${request.instructions}\n\nThe final answer must be one JSON object that fits this JSON schema, and nothing else:\n${JSON.stringify(jsonSchema)}`.trimStart()
  }
}

const extended = new WeakMap<Declarations, Declarations>()

/** Returns the same array for the same tools, so that the same array is converted once. */
function withTool(tools: Declarations, declaration: FunctionTool): Declarations {
  const known = extended.get(tools)
  if (known?.at(-1) === declaration) return known
  const made = [...tools, declaration]
  extended.set(tools, made)
  return made
}

/** Reads the output from an answer and puts it into the message, which is stored with it. */
async function readAnswer(_turn: Turn, { schema }: OutputSetting, answered: Answered): Promise<undefined> {
  const { message } = answered.answer
  if (!isFinal(message)) return undefined
  const read = await readText(await resolveSchema(schema), textOf(message))
  if (read.ok) answered.answer = { ...answered.answer, message: { ...message, output: read.value } }
  return undefined
}

function isFinal(message: AssistantMessage): boolean {
  return (message.stopReason === 'stop' || message.stopReason === 'length') && !message.paused && clientCalls(message).length === 0
}

async function readText(schema: ToolSchema, text: string): Promise<SchemaResult> {
  const found = jsonIn(text)
  return found === undefined ? wrong('the answer is not a JSON object') : asJson(await schema.validate(found))
}

/** Returns the object in a text: models put words or a fence around it. */
function jsonIn(text: string): JSONValue | undefined {
  try {
    const found = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as JSONValue
    return isRecord(found) ? found : undefined
  } catch {
    return undefined
  }
}

/** The schema's result is stored, so it must be JSON. */
function asJson(read: SchemaResult): SchemaResult {
  if (!read.ok) return read
  try {
    return { ok: true, value: copyJson(read.value) }
  } catch (error) {
    return wrong(`the schema makes what cannot be stored: ${messageOf(error)}`)
  }
}

function wrong(message: string): SchemaResult {
  return { ok: false, issues: [{ path: '', message }] }
}

function inWords(issues: readonly SchemaIssue[]): string {
  const lines = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
  return cutMiddle(lines.join('\n'), shownCharacters)
}

/** Checks the output again: a hook may have changed what the tool gave. */
async function checkOutcome({ schema }: OutputSetting, ended: EndedCall): Promise<void> {
  const { status, details, executed } = ended.outcome
  if (status !== 'result') return
  const read = asJson(await (await resolveSchema(schema)).validate(isRecord(details) ? details['output'] : undefined))
  if (!read.ok) ended.outcome = errorOutcome(`the final answer is not valid:\n${inWords(read.issues)}`, executed)
}

/** Decides whether a turn ends with an output, continues for one, or ends as an error. */
async function judge(turn: Turn, { schema, repairs }: OutputSetting, step: EndedStep): Promise<void> {
  const { outcome, answer } = step
  if (outcome && outcome.status !== 'completed') return
  const { output, failures } = findOutput(turnMessages(turn))
  if (output !== undefined) return
  if (!outcome && failures <= repairs) return
  const mayGoOn = outcome && modelWouldStop(outcome) && failures <= repairs && turn.step < turn.run.limits.maxSteps
  if (mayGoOn) step.outcome = undefined
  else
    step.outcome = failed(
      'output-invalid',
      `the final answer does not fit the output schema, after ${failures} attempts: ${await problemOf(schema, answer, step)}`,
    )
}

async function problemOf(schema: OutputSetting['schema'], answer: AssistantMessage, { calls }: EndedStep): Promise<string> {
  const outcome = calls.findLast(({ row }) => row.toolName === outputToolName)?.row.outcome
  if (outcome?.output.type === 'error-text') return cutMiddle(outcome.output.value, shownCharacters)
  const read = await readText(await resolveSchema(schema), textOf(answer))
  return read.ok ? 'the turn ended before it' : inWords(read.issues)
}

function failed(code: 'invalid-config' | 'output-invalid', message: string): TurnOutcome {
  return { status: 'error', reason: 'output-invalid', error: { code, message } }
}

/** Asks again once for each answer, also after a crash. Inputs from others come after it. */
function askAgain(turn: Turn, setting: OutputSetting, slot: Window): MaybePromise<undefined> {
  const { latestAnswer, messages } = turn.transcript
  if (!turn.answered || turn.stepState !== 'ended' || !latestAnswer || !isFinal(latestAnswer) || latestAnswer.output !== undefined)
    return undefined
  if (messages.some((message) => 'repairsOutput' in message && message.repairsOutput === latestAnswer.id)) return undefined
  return placeRepair(turn, setting, slot, latestAnswer)
}

async function placeRepair(turn: Turn, { schema }: OutputSetting, slot: Window, latestAnswer: AssistantMessage): Promise<undefined> {
  const read = await readText(await resolveSchema(schema), textOf(latestAnswer))
  if (read.ok) return undefined
  const how = turn.outputMode === 'tool' ? `Call the tool ${outputToolName} with it.` : 'Answer with the JSON object alone.'
  const content = `The final answer is not valid:\n${inWords(read.issues)}\n${how}`
  placeInput(turn, slot, {
    inputId: turn.ids.next('input'),
    source: 'repair',
    input: { role: 'user', content, repairsOutput: latestAnswer.id } as never,
  })
  return undefined
}

/** Returns the messages of the turn. */
function turnMessages({ transcript, beginsAt }: Turn): Turn['transcript']['messages'] {
  return transcript.messages.slice(beginsAt)
}

/** Publishes what a piece of the answer changes in the output. */
function readDelta(turn: Turn, event: DeltaEvent): void {
  const state = stateOf(turn)
  switch (event.type) {
    case 'text-start':
    case 'tool-call-start':
      if (event.type === 'tool-call-start' && event.toolName !== outputToolName) return
      state.reader = new JsonReader()
      state.index = event.index
      return
    case 'text-delta':
    case 'tool-call-delta': {
      const { at, runId, turn: number, step, messageId, index, delta } = event
      const patch = index === state.index ? state.reader?.push(delta) : undefined
      if (patch && patch.length > 0) turn.publish({ type: 'output-delta', at, runId, turn: number, step, messageId, index, patch })
      return
    }
    default:
  }
}
