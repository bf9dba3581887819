import type { InitializeResponse } from '@agentclientprotocol/sdk'
import type { AgentInfo, AgentProvider } from '../../agent.ts'
import { BridgeError } from '../../errors.ts'
import { isProof } from '../../worker/handshake.ts'
import { acpVersion, bowlineMeta, recordOf, wireVersion } from '../../worker/meta.ts'
import type { WorkerSettings } from './options.ts'

/** Self-description of a worker. The configuration overrides it. */
export interface Hello {
  readonly info: AgentInfo
  readonly capabilities: readonly string[]
  readonly providers?: readonly AgentProvider[]
  readonly maxConcurrentSessions: number
  /** Whether it speaks Bowline's extension of ACP: whole results and events, answers, pings. */
  readonly ours: boolean
  readonly durable: boolean
  readonly pings: boolean
  readonly closes: boolean
  readonly reopens: 'resume' | 'load' | undefined
}

/** Reads the handshake. Throws `PROTOCOL` or `AUTH` for failures that a restart cannot fix. */
export function readHello(settings: WorkerSettings, response: InitializeResponse, token: string, challenge: string): Hello {
  const { id } = settings
  const details = { agentId: id }
  if (response.protocolVersion !== acpVersion) {
    throw new BridgeError('PROTOCOL', `Worker ${id} does not speak version ${acpVersion} of the Agent Client Protocol`, { details })
  }
  const meta = bowlineMeta(response)
  if (settings.handshake === 'token' && !isProof(meta['proof'], token, challenge)) {
    throw new BridgeError('AUTH', `Worker ${id} did not prove that it is the process that was started`, { details })
  }
  const ours = meta['protocol'] === wireVersion
  const { agentCapabilities, agentInfo } = response
  const sessions = agentCapabilities?.sessionCapabilities
  return {
    info: { ...infoOf(ours ? recordOf(meta['agent']) : { ...agentInfo, name: agentInfo?.title ?? agentInfo?.name }), id },
    capabilities: settings.capabilities ?? textsOf(meta['capabilities']),
    ...(ours && Array.isArray(meta['providers']) && { providers: meta['providers'] as readonly AgentProvider[] }),
    maxConcurrentSessions: settings.maxConcurrentSessions ?? limitOf(meta['maxConcurrentSessions']),
    ours,
    durable: ours && meta['durable'] === true,
    pings: meta['ping'] === true,
    closes: sessions?.close !== undefined && sessions.close !== null,
    reopens: sessions?.resume ? 'resume' : agentCapabilities?.loadSession ? 'load' : undefined,
  }
}

function infoOf(said: Readonly<Record<string, unknown>>): Omit<AgentInfo, 'id'> {
  const texts = (['name', 'description', 'version'] as const).flatMap((field) =>
    typeof said[field] === 'string' && said[field] !== '' ? [[field, said[field]]] : [],
  )
  return Object.fromEntries(texts) as Omit<AgentInfo, 'id'>
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function limitOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : Infinity
}
