import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Column of the comparison. */
export interface Competitor {
  readonly name: string
  /** Path of the module that exports the contender. */
  readonly module: string
  /** Description of the column: package, version and interface. */
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

export const durableOurs: Competitor = {
  name: 'Bowline',
  module: join(import.meta.dirname, 'contenders/bowline-durable.ts'),
  about: 'a session of `@bowline/sessions` on `sqliteStore`, with a model of the AI SDK; a next process takes a turn up where it was',
}

export const postgresOurs: Competitor = {
  name: 'Bowline',
  module: join(import.meta.dirname, 'contenders/bowline-postgres.ts'),
  about: 'a session of `@bowline/sessions` on `postgresStore`, with a model of the AI SDK; another process takes a turn up where it was',
}

interface Peer {
  readonly name: string
  readonly file: string
  readonly packages: readonly string[]
  readonly seam: string
}

/** Column with which Bowline is compared. */
export const reference = 'pi 0.73'

const langGraphPackages = ['@langchain/langgraph', '@langchain/core']

const peers: readonly Peer[] = [
  { name: reference, file: 'pi-073.ts', packages: ['@mariozechner/pi-agent-core'], seam: '`agentLoop` with a stream function' },
  { name: 'pi 0.87', file: 'pi-087.ts', packages: ['@earendil-works/pi-agent-core'], seam: 'the same of its successor' },
  { name: 'ai', file: 'ai.ts', packages: ['ai'], seam: '`ToolLoopAgent` with the same model as Bowline' },
  { name: 'OpenAI Agents', file: 'openai-agents.ts', packages: ['@openai/agents'], seam: '`run` with a `Model`, tracing off' },
  { name: 'Mastra', file: 'mastra.ts', packages: ['@mastra/core'], seam: '`Agent.stream` with the same model as Bowline' },
  {
    name: 'LangGraph',
    file: 'langgraph.ts',
    packages: langGraphPackages,
    seam: '`createReactAgent` with a `BaseChatModel`, read as messages, callbacks awaited',
  },
  {
    name: 'LangGraph, delta',
    file: 'langgraph-delta.ts',
    packages: langGraphPackages,
    seam: 'the same with its messages in a `DeltaChannel`',
  },
]

const mastraPackages = ['@mastra/core', '@mastra/memory', '@mastra/libsql']

const storedLangGraphPackages = [
  ...langGraphPackages,
  '@langchain/langgraph-checkpoint',
  '@langchain/langgraph-checkpoint-sqlite',
  'better-sqlite3',
]

const durablePeers: readonly Peer[] = [
  {
    name: 'Mastra',
    file: 'mastra-memory.ts',
    packages: mastraPackages,
    seam: '`Agent.stream` in a thread of `Memory` with `savePerStep`: the messages outlive the process, the turn does not',
  },
  {
    name: 'Mastra, durable',
    file: 'mastra-durable.ts',
    packages: mastraPackages,
    seam: '`DurableAgent` in such a thread with `recovery.durableAgents: "auto"`: a next process takes a turn up at its last step',
  },
  {
    name: 'LangGraph',
    file: 'langgraph-durable.ts',
    packages: storedLangGraphPackages,
    seam: '`createReactAgent` with `SqliteSaver` and `durability: "sync"`: a turn that is called again goes on at its last step',
  },
  {
    name: 'LangGraph, delta',
    file: 'langgraph-delta-durable.ts',
    packages: storedLangGraphPackages,
    seam: 'the same with its messages in a `DeltaChannel`: a checkpoint holds what its step has added',
  },
]

const postgresPeers: readonly Peer[] = [
  {
    name: 'LangGraph',
    file: 'langgraph-postgres.ts',
    packages: [...langGraphPackages, '@langchain/langgraph-checkpoint-postgres'],
    seam: '`createReactAgent` with `PostgresSaver` and `durability: "sync"`: a turn that is called again goes on at its last step',
  },
  {
    name: 'Mastra',
    file: 'mastra-postgres.ts',
    packages: ['@mastra/core', '@mastra/memory', '@mastra/pg'],
    seam: '`DurableAgent` in a thread of `Memory` on `PostgresStore` with `recovery.durableAgents: "auto"`: a next process takes a turn up at its last step',
  },
  {
    name: 'DBOS',
    file: 'dbos.ts',
    packages: ['@dbos-inc/dbos-sdk'],
    seam: 'a loop of our own in a workflow, with a step for each answer of the model and one for each tool: another process goes on behind the last of them. It stores neither messages nor events',
  },
  {
    name: 'OpenWorkflow',
    file: 'openworkflow.ts',
    packages: ['openworkflow', 'postgres'],
    seam: 'the same loop, with its workflow and its steps',
  },
]

/** Returns Bowline first, then the others with the versions that their workspace pins. */
export function competitors(): readonly Competitor[] {
  return [...ours, ...peers.map(competitorOf)]
}

/** Returns the contenders that store their turns. */
export function durableCompetitors(): readonly Competitor[] {
  return [durableOurs, ...durablePeers.map(competitorOf)]
}

/** Returns the contenders that store their turns in Postgres. */
export function postgresCompetitors(): readonly Competitor[] {
  return [postgresOurs, ...postgresPeers.map(competitorOf)]
}

function competitorOf({ name, file, packages, seam }: Peer): Competitor {
  const { dependencies } = JSON.parse(readFileSync(join(peersFolder, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  const versions = packages.map((each) => `\`${each}\` ${dependencies[each]}`)
  return { name, module: join(peersFolder, 'src', file), about: `${versions.join(', ')}, ${seam}` }
}
