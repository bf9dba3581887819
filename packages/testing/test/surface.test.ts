import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as crashes from '@bowline/testing/crashes'
import * as executors from '@bowline/testing/executors'
import * as placement from '@bowline/testing/placement'
import * as root from '@bowline/testing'
import * as stores from '@bowline/testing/stores'
import { expect, it } from 'vitest'

const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as { readonly exports: object }

it('the exported names change only on purpose', () => {
  expect(Object.keys(manifest.exports)).toEqual(['.', './crashes', './executors', './placement', './stores'])
  expect(Object.keys(root).sort()).toEqual([
    ...['checkEvents', 'checkTranscript', 'crashingJournal', 'fakeClock', 'fakeIds', 'recordingJournal', 'transcriptArbitrary'],
  ])
  expect(Object.keys(crashes).sort()).toEqual([
    ...['crashScenarios', 'exploreCrashes', 'exploreStoreFaults', 'faultyStore', 'standardInvariants'],
  ])
  expect(Object.keys(executors).sort()).toEqual(['kitAgent', 'kitApproval', 'kitResult', 'testBridgeExecutor'])
  expect(Object.keys(placement)).toEqual(['testPlacement'])
  expect(Object.keys(stores).sort()).toEqual(['testRowStore', 'testStateStore'])
})
