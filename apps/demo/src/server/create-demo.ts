import type { Bridge } from '@bowline/bridge'
import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { createOrchestration, createRuntime } from '@bowline/sessions'
import type { Orchestration, Runtime, SessionStore } from '@bowline/sessions'
import { recordRequests } from '@bowline/sessions/requests'
import type { RequestRecorder } from '@bowline/sessions/requests'
import { offlineModel } from '../model/offline-model.ts'
import { createPace, speedFrom } from '../pace.ts'
import { createDemoAgents } from './agents.ts'
import { chooseModel } from './choose-model.ts'
import type { ModelChoice } from './choose-model.ts'
import { createStore } from './create-store.ts'
import { createDemoBridge } from './demo-bridge.ts'
import { openDataFolder } from './open-data-folder.ts'
import { restateUrlFrom } from './settings.ts'
import type { Environment } from './settings.ts'
import { storeChoiceFrom } from './store-choice.ts'
import { planSteps } from './tools/plan.ts'

export interface Demo {
  readonly choice: ModelChoice
  /** Runtime that also starts and stops the bridge. */
  readonly runtime: Runtime
  readonly bridge: Bridge
  readonly orchestration: Orchestration
  /** Recorder of the requests to models. */
  readonly requests: RequestRecorder
}

export interface DemoOptions {
  readonly clock?: Clock
  /** Wraps the store. Default: unchanged. */
  readonly around?: (store: SessionStore) => SessionStore
}

/** Creates the agents of the demo with the store and the model of the environment. Throws for a fault of the environment. */
export async function createDemo(env: Environment, { clock = systemClock, around = (store) => store }: DemoOptions = {}): Promise<Demo> {
  const dataFolder = await openDataFolder(env)
  const speed = speedFrom(env)
  const pace = createPace(speed, clock)
  const choice = await chooseModel(env, () => ({ model: offlineModel({ pace }), spare: offlineModel({ pace, isSpare: true }) }))
  const store = around(await createStore(storeChoiceFrom(env), dataFolder))
  const { bridge, tool, join } = createDemoBridge(store, speed)
  const orchestration = createOrchestration({ store, config: planSteps, clock })
  const requests = recordRequests({ store, clock })
  const agents = createDemoAgents(choice, {
    pace,
    clock,
    dataFolder,
    speed,
    delegate: tool,
    orchestration: orchestration.extension(),
    requests: requests.extension,
  })
  const runtime = createRuntime({ agents, store, clock, requests, placement: restateUrlFrom(env) === undefined ? 'own' : 'host' })
  join(runtime)
  return { choice, bridge, orchestration, requests, runtime: withBridge(runtime, bridge) }
}

/** Starts the bridge after the runtime without waiting for it. Stops it before the runtime, because it uses the store. */
function withBridge(runtime: Runtime, bridge: Bridge): Runtime {
  return {
    ...runtime,
    async start(options) {
      const report = await runtime.start(options)
      bridge.start().catch((error: unknown) => console.error('The bridge does not start.', error))
      return report
    },
    async stop(options) {
      await bridge.stop()
      await runtime.stop(options)
    },
  }
}
