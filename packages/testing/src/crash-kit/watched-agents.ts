import { defineAgent, type Agent, type AgentInput, type AgentModel, type AgentOptions, type RunOptions } from '@bowline/agent-loop'
import type { CrashProcess } from './crash-process.ts'
import type { Scene } from './scene.ts'

type Tools = NonNullable<AgentOptions['tools']>
type Execute = (...args: never[]) => unknown

/** Creates the agents of one process. Each model call, and each start and end of a tool, is a point. */
export function watchedAgents(scene: Scene, process: CrashProcess, options: readonly AgentOptions[]): readonly Agent[] {
  return options.map((each) => {
    const { tools = [], model } = each
    const agent = defineAgent({
      ...each,
      model: watchedModel(scene, process, model),
      tools: watchedTools(scene, process, tools),
    })
    const { random } = scene
    return { ...agent, run: (input: AgentInput | undefined, given?: RunOptions) => agent.run(input, { ...given, random }) }
  })
}

function watchedTools(scene: Scene, process: CrashProcess, tools: Tools): Tools {
  const watch = (name: string, tool: object): object => {
    const execute = (tool as { readonly execute?: Execute }).execute
    return execute ? { ...tool, execute: watchedTool(scene, process, name, execute) } : tool
  }
  if (isList(tools)) return tools.map((tool) => watch(tool.name, tool)) as typeof tools
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, watch(name, tool)])) as typeof tools
}

function isList(tools: Tools): tools is Extract<Tools, readonly unknown[]> {
  return Array.isArray(tools)
}

function watchedTool(scene: Scene, process: CrashProcess, name: string, execute: Execute): Execute {
  if (isGenerator(execute)) {
    return async function* (...args) {
      await scene.point(process, 'tool-start', name)
      const value: unknown = yield* execute(...args)
      await scene.point(process, 'tool-end', name)
      return value
    }
  }
  return async (...args) => {
    await scene.point(process, 'tool-start', name)
    const value = await execute(...args)
    await scene.point(process, 'tool-end', name)
    return value
  }
}

function isGenerator(execute: Execute): execute is (...args: never[]) => AsyncGenerator {
  return execute.constructor.name === 'AsyncGeneratorFunction'
}

/** Makes each call of the model a point. A model that is given by name cannot be wrapped. */
function watchedModel(scene: Scene, process: CrashProcess, model: AgentModel): AgentModel {
  if (typeof model === 'string') return model
  if (typeof model === 'function') {
    return (request) => {
      void scene.point(process, 'model-call', 'function')
      return model(request)
    }
  }
  return new Proxy(model, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if ((name !== 'doStream' && name !== 'doGenerate') || typeof member !== 'function') return member
      return async (...args: unknown[]) => {
        await scene.point(process, 'model-call', 'modelId' in target ? target.modelId : '')
        return (member as (...given: unknown[]) => unknown).apply(target, args)
      }
    },
  })
}
