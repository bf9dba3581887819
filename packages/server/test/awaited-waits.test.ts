import { describe, it } from 'vitest'
import { expectAwaited } from './support/awaiting-script.ts'

/** For each wait: the awaited call and its result. Each ends only by a timer of the runtime. */
const waits: Readonly<Record<string, readonly [script: string, said: unknown]>> = {
  'changes of one record by many at once': [
    `const store = memoryStateStore()
     await createOrchestration({ store }).getOrCreateState('a')
     const managers = Array.from({ length: 50 }, () => createOrchestration({ store }))
     const done = await Promise.allSettled(managers.map((manager) => manager.addUsedTool('a', 'search')))
     say(done.every(({ status, reason }) => status === 'fulfilled' || reason.code === 'conflict'))`,
    true,
  ],
  'a tool that asks for a state that never comes': [
    `const silent = { ...memoryStateStore(), get: never, touch: never }
     const orchestration = createOrchestration({ store: silent })
     const tool = hang({ execute: () => 'used' })
     const agent = agentOf({ tools: [tool], extensions: [orchestration.extension({ steps: [{ name: 'one', isDefault: true, tools: { allow: ['hang'] } }] })] })
     say((await agent.run('go').result()).status)`,
    'completed',
  ],
  'a model whose stream stays open behind its finish': [
    `const model = modelOf(() => new ReadableStream({ start: (controller) => (controller.enqueue({ type: 'text-delta', id: 't', delta: 'word' }), controller.enqueue(finish)) }))
     say((await streamMessage({ model, messages: [{ role: 'user', content: 'x' }] }).result()).stopReason)`,
    'stop',
  ],
  'a scripted model that takes its time': [
    `say((await streamMessage({ model: scriptedModel([{ text: 'done', delayMs: 50 }]), messages: [{ role: 'user', content: 'x' }] }).result()).stopReason)`,
    'stop',
  ],
  'a run that waits to try again': [
    `const agent = agentOf({ model: scriptedModel([{ error: { status: 503 } }, { text: 'done' }]), retry: { baseDelayMs: 100 } })
     say((await agent.run('go').result()).status)`,
    'completed',
  ],
  'a tool that is out of time': [`say((await hanging({ timeoutMs: 50 }).run('go').result()).status)`, 'completed'],
  'a run that is out of time': [
    `say((await agentOf({ model: callThenText(), tools: [hang()], abortGraceMs: 50, limits: { maxDurationMs: 50 } }).run('go').result()).status)`,
    'limit',
  ],
  'an aborted run whose tool goes on': [
    `const run = hanging().run('go')
     for await (const event of run) if (event.type === 'tool-execution-start') run.abort()
     say((await run.result()).status)`,
    'aborted',
  ],
  'a hook that never answers': [
    `const agent = agentOf({ extensions: [{ name: 'slow', timeoutMs: 50, hooks: { onTurnStart: never } }] })
     say((await agent.run('go').result()).status)`,
    'completed',
  ],
  'the result of an input that waits for its time': [
    `const run = await sessionOf(agentOf()).send('go', { notBefore: Date.now() + 300 })
     say((await run.result()).status)`,
    'completed',
  ],
  'the events of an input that waits for its time': [
    `const run = await sessionOf(agentOf()).send('go', { notBefore: Date.now() + 300 })
     await until(run, 'turn-end')
     say('read')`,
    'read',
  ],
  'a decision that has a deadline': [
    `const tool = hang({ needsApproval: true, approvalTimeoutMs: 200 })
     const session = sessionOf(agentOf({ model: callThenText(), tools: [tool] }))
     const run = await session.send('go')
     await until(run, 'approval-requested')
     for await (const event of session.events()) if (event.type === 'settled') break
     say((await run.result()).status)`,
    'completed',
  ],
  'a stop that is given up': [
    `const run = await sessionOf(hanging()).send('go')
     await until(run, 'tool-execution-start')
     say((await run.stop({ waitMs: 20 })).state)`,
    'pending',
  ],
  'a stop of a tool that goes on': [
    `const run = await sessionOf(hanging()).send('go')
     await until(run, 'tool-execution-start')
     say((await run.stop()).status)`,
    'stopped',
  ],
  'a run that nobody drives': [
    `const run = await sessionOf(agentOf()).send('go', { mode: 'synchronized', driverTimeoutMs: 200 })
     say((await run.result()).status)`,
    'completed',
  ],
  'a drain until a time': [
    `const runtime = createRuntime({ agents: [hanging()], timers: false })
     await runtime.session('room:1').send('go')
     const untilMs = Date.now() + 100
     await runtime.drain({ untilMs })
     say(Date.now() >= untilMs)`,
    true,
  ],
  'a drain of a tool that is out of time': [
    `const runtime = createRuntime({ agents: [hanging({ timeoutMs: 100 })], timers: false })
     await runtime.session('room:1').send('go')
     say((await runtime.drain()).ran)`,
    1,
  ],
  'the stop of a runtime whose tool goes on': [
    `const runtime = createRuntime({ agents: [hanging()] })
     const run = await runtime.session('room:1').send('go')
     await until(run, 'tool-execution-start')
     await runtime.stop({ graceMs: 1_000 })
     say('stopped')`,
    'stopped',
  ],
  'a request that is out of time': [
    `const { createBridge, defineBridgeAgent, inProcessExecutor } = await import('@bowline/bridge')
     const slow = defineBridgeAgent({ specificationVersion: 'v1', info: { id: 'slow', description: 'Hangs.' }, onPrompt: never })
     const bridge = createBridge({ executors: [inProcessExecutor({ agents: [slow] })], cancelGraceMs: 50, logger: quiet })
     await bridge.start()
     const result = await bridge.delegate({ prompt: 'go', timeoutMs: 1_000 }).result()
     say(result.ok ? result.status : result.error.code)`,
    'TIMEOUT',
  ],
}

describe('a script that awaits', () => {
  // Concurrent, because they mostly wait.
  it.concurrent.each(Object.entries(waits))('O15, S66: does not exit before the end of %s', (_name, [script, said]) =>
    expectAwaited(script, said),
  )
})
