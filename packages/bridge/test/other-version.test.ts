import { versionCheck, versionMark } from '@bowline/llm/arguments'
import { describe, expect, it } from 'vitest'
import sessions from '../../sessions/package.json' with { type: 'json' }
import manifest from '../package.json' with { type: 'json' }
import { BridgeError, createBridge, delegateTool, runtimeAgent } from '../src/index.ts'
import { createBridgeMcpServer } from '../src/mcp/index.ts'
import { startWriter } from './runtime-support.ts'

interface Package {
  readonly name: string
  readonly version: string
}

const other = '99.1.2'
const markOf = ({ name }: Package, version: string) => versionMark({ name, version })

const refusal = (path: string, { name, version }: Package) =>
  new BridgeError(
    'CONFIG',
    `${path} was made with ${name} ${other}, but ${name} ${version} is used here; install one version (npm ls ${name} shows where they come from)`,
  )

describe('objects of another version of a package', () => {
  it('S208: runtimeAgent refuses a runtime of another version with both versions', async () => {
    const runtime = await startWriter([])
    expect(() => runtimeAgent({ ...runtime, ...markOf(sessions, other) }, { agent: 'writer' })).toThrow(
      refusal('runtimeAgent.runtime', sessions),
    )
  })

  it('S208: delegateTool and the MCP server refuse a bridge of another version with both versions', () => {
    const bridge = createBridge()
    const ofOther = versionCheck({ name: manifest.name, version: other }, (message) => new RangeError(message))
    expect(() => ofOther('it', bridge)).toThrow(
      `it was made with ${manifest.name} ${manifest.version}, but ${manifest.name} ${other} is used here`,
    )
    Object.assign(bridge, markOf(manifest, other))
    expect(() => delegateTool(bridge)).toThrow(refusal('delegateTool.bridge', manifest))
    expect(() => createBridgeMcpServer(bridge)).toThrow(refusal('createBridgeMcpServer.bridge', manifest))
  })
})
