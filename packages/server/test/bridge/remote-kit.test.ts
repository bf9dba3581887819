import { defineAgent } from '@bowline/agent-loop'
import { remoteExecutor } from '@bowline/bridge'
import { testBridgeExecutor } from '@bowline/testing/executors'
import { scriptedModel } from '@bowline/llm/testing'
import type { Script, Step } from '@bowline/llm/testing'
import { describe, it } from 'vitest'
import { bench } from '../support/bench.ts'

/** Creates a model for the words of the kit that a model can perform. */
function kitScript(note: (line: string) => void): Script {
  return ({ prompt, abortSignal }) => {
    const last = prompt.findLast(({ role }) => role === 'user')
    const asked =
      typeof last?.content === 'string' ? last.content : (last?.content ?? []).map((part) => ('text' in part ? part.text : '')).join('')
    note(`prompt ${asked}`)
    abortSignal?.addEventListener('abort', () => note('abort'), { once: true })
    return stepFor(asked)
  }
}

function stepFor(asked: string): Step {
  const [word = '', ...rest] = asked.split(' ')
  switch (word) {
    case 'say':
      return { text: rest.join(' ') }
    case 'stream':
      return { text: rest.join(''), chunk: 1 }
    case 'long':
      return { text: 'x'.repeat(Number(rest[0])) }
    case 'wait':
      // The model hangs after the first of two pieces.
      return { text: 'waiting longer', chunk: 'waiting'.length, hang: 'middle' }
    case 'fail':
      // The failure of a model is data and is reported.
      throw new Error('the model failed')
    default:
      throw new Error(`The kit has no word ${word}`)
  }
}

const ofTheLoop = 'an agent of the loop ends as its model and tools do'

testBridgeExecutor({
  name: 'an agent of another server',
  async executor(limits) {
    const notes: string[] = []
    const kit = defineAgent({ name: 'kit', model: scriptedModel(kitScript((line) => notes.push(line))), retry: false })
    const { url } = await bench({ otherAgents: [kit] })
    return { executor: remoteExecutor({ servers: [{ id: 'far', baseUrl: url, agents: ['kit'] }], ...limits }), notes: () => notes }
  },
  cannot: {
    hooks: 'an agent of a server has none',
    metadata: 'they stay with the bridge',
    params: 'a model sees those that it has',
    results: ofTheLoop,
    progress: ofTheLoop,
    'typed-errors': ofTheLoop,
    stubbornness: 'a run is stopped by its server',
    'ended-questions': 'their ids are those of the run',
    'open-questions': ofTheLoop,
  },
  runner: { describe, it },
})
