import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { fixture, startHttpCommand } from '../bin/command-support.ts'

const conformance = join(import.meta.dirname, '../../node_modules/.bin/conformance')

/** Scenarios that apply to a bridge. They must pass. */
const applies = ['dns-rebinding-protection', 'ping', 'server-initialize', 'tools-list']

const noResources = 'the bridge has no resources'
const noPrompts = 'the bridge has no prompts'
const ownTool = 'calls a tool that only the reference server has'
const asksClient = 'calls a tool that asks the client something, which no tool of the bridge does'

/** Scenarios that do not apply, with the reason. The suite also checks that they fail; one that passes belongs in the list above. */
const doesNotApply: Readonly<Record<string, string>> = {
  'completion-complete': 'completes arguments of prompts and resources, of which there are none',
  'elicitation-sep1034-defaults': asksClient,
  'elicitation-sep1330-enums': asksClient,
  'json-schema-2020-12': ownTool,
  'logging-set-level': 'logs go to stderr, not to clients',
  'prompts-get-embedded-resource': noPrompts,
  'prompts-get-simple': noPrompts,
  'prompts-get-with-args': noPrompts,
  'prompts-get-with-image': noPrompts,
  'prompts-list': noPrompts,
  'resources-list': noResources,
  'resources-read-binary': noResources,
  'resources-read-text': noResources,
  'resources-subscribe': noResources,
  'resources-templates-read': noResources,
  'resources-unsubscribe': noResources,
  'server-sse-multiple-streams': 'warns: an MCP connection has no state, so it has no session id',
  'server-sse-polling': 'warns: no stream is resumed; tasks_status finds the work again',
  'tools-call-audio': ownTool,
  'tools-call-elicitation': asksClient,
  'tools-call-embedded-resource': ownTool,
  'tools-call-error': ownTool,
  'tools-call-image': ownTool,
  'tools-call-mixed-content': ownTool,
  'tools-call-sampling': asksClient,
  'tools-call-simple-text': ownTool,
  'tools-call-with-logging': ownTool,
  'tools-call-with-progress': ownTool,
}

it('B110: the conformance suite of the protocol passes except for features that are not offered', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bowline-conformance-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const baseline = join(folder, 'expected.yml')
  await writeFile(baseline, ['server:', ...Object.keys(doesNotApply).map((name) => `  - ${name}`), ''].join('\n'))
  const { url } = await startHttpCommand(['--config', fixture('clients')])
  // Exits with an error if an expected scenario fails or an unexpected one passes.
  const { stdout } = await promisify(execFile)(
    conformance,
    ['server', '--url', url, '--suite', 'all', '--expected-failures', baseline, '--output-dir', folder],
    { cwd: folder },
  )
  const scenarios = [...stdout.matchAll(/^[✓✗] (\S+): /gm)].map(([, name]) => name)
  expect(scenarios.sort()).toEqual([...applies, ...Object.keys(doesNotApply)].sort())
})
