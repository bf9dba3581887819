import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A column of the comparison. */
export interface Competitor {
  readonly name: string
  /** Path of the module that exports the contender. */
  readonly module: string
  /** What its column is: package and version, seam. */
  readonly about: string
}

export const peersFolder = join(import.meta.dirname, '../peers')

export const ours: readonly Competitor[] = [
  {
    name: 'Bowline, function',
    module: join(import.meta.dirname, 'contenders/bowline-function.ts'),
    about: '`agent.run` with a model function that gives a stream of its own',
  },
  {
    name: 'Bowline',
    module: join(import.meta.dirname, 'contenders/bowline.ts'),
    about: '`agent.run` with a model of the AI SDK, made of a `ReadableStream` that gives one part per read',
  },
]

const peers = [
  { name: 'pi', file: 'pi.ts', package: '@earendil-works/pi-agent-core', seam: '`agentLoop` with a stream function' },
  { name: 'ai', file: 'ai.ts', package: 'ai', seam: '`ToolLoopAgent` with the same model as Bowline' },
  { name: 'OpenAI Agents', file: 'openai-agents.ts', package: '@openai/agents', seam: '`run` with a `Model`, tracing off' },
  { name: 'Mastra', file: 'mastra.ts', package: '@mastra/core', seam: '`Agent.stream` with the same model as Bowline' },
  {
    name: 'LangGraph',
    file: 'langgraph.ts',
    package: '@langchain/langgraph',
    seam: '`createReactAgent` with a `BaseChatModel`, read as messages, callbacks awaited',
  },
] as const

/** Ours first, then the others with the versions that their workspace pins. */
export function competitors(): readonly Competitor[] {
  const { dependencies } = JSON.parse(readFileSync(join(peersFolder, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  return [
    ...ours,
    ...peers.map((peer) => ({
      name: peer.name,
      module: join(peersFolder, 'src', peer.file),
      about: `\`${peer.package}\` ${dependencies[peer.package]}, ${peer.seam}`,
    })),
  ]
}
