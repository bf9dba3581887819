import { runProgram } from '../explorers/programs/run-program.ts'
import type { Program } from '../explorers/programs/program.ts'
import { expect, it } from 'vitest'

/** Programs that failed once, in their shrunk form. */
const found: readonly (readonly [string, Omit<Program, 'seed' | 'crashes'> & Partial<Program>])[] = [
  [
    'S124: a kill while the end of a turn is still worked on does not end the turn again',
    {
      setup: { hooks: [{ hook: 'onAgentEnd', does: 100, times: 1 }] },
      steps: [
        { do: 'send', to: 'a', name: 'first', plan: [] },
        { do: 'kill', to: 'a' },
      ],
    },
  ],
  [
    'S124: a session that expires before the first step of a turn ends no step',
    {
      setup: { idleMs: 20_000, hooks: [{ hook: 'onTurnStart', does: 20_000, times: 1 }] },
      steps: [{ do: 'send', to: 'a', name: 'first', plan: [] }],
    },
  ],
  [
    'S124: a kill while a retry waits ends the retry',
    {
      setup: {},
      steps: [
        { do: 'send', to: 'a', name: 'first', plan: [{ fails: 'once' }] },
        { do: 'kill', to: 'a' },
      ],
    },
  ],
  [
    'S112, S124: a turn that is held for its definition has a save-point',
    {
      setup: { onDefinitionChange: 'pin', hooks: [{ hook: 'onStepEnd', does: 3_000, onError: 'fail', times: 1 }] },
      steps: [
        { do: 'send', to: 'a', name: 'first', plan: [] },
        { do: 'restart', definition: 2 },
      ],
    },
  ],
  [
    'S82, S202: a subagent that is held for its definition is named to the clients of the root',
    {
      setup: { onDefinitionChange: 'refuse' },
      steps: [
        { do: 'send', to: 'a', name: 'first', plan: [{ calls: [{ delegate: [{ calls: [{ tool: 'askSoon' }] }] }] }] },
        { do: 'restart', definition: 1 },
      ],
      seed: 1374,
    },
  ],
  [
    'S82, S130: a run that is given up stops the subagents it waits for',
    {
      setup: { hooks: [{ hook: 'onStepEnd', does: 'throw', times: 1 }] },
      steps: [
        { do: 'send', to: 'a', name: 'first', plan: [] },
        {
          do: 'follow-up',
          to: 'b',
          name: 'in0',
          plan: [{ calls: [{ delegate: [{ calls: [{ delegate: [{ calls: [{ tool: 'askSoon' }] }] }, { tool: 'place' }] }] }] }],
        },
      ],
      seed: 741,
      crashes: [{ at: 108, how: 'lost' }],
    },
  ],
  [
    'S94: an answer of the store that is lost while a run goes on does not orphan its subagent',
    {
      setup: {},
      steps: [
        {
          do: 'send',
          to: 'a',
          name: 'first',
          plan: [
            {
              calls: [
                {
                  delegate: [{ calls: [{ delegate: [{ calls: [{ tool: 'placeSoon' }] }] }, { delegate: [{ calls: [{ tool: 'ask' }] }] }] }],
                },
              ],
            },
          ],
        },
      ],
      seed: 1280,
      crashes: [{ at: 117, how: 'lost' }],
    },
  ],
  [
    'S94: a question that is decided two subagents below is not asked again by the one between',
    {
      setup: {},
      steps: [
        {
          do: 'send',
          to: 'b',
          name: 'in0',
          plan: [{ calls: [{ delegate: [{ calls: [{ tool: 'askSoon' }, { delegate: [{ calls: [{ tool: 'askSoon' }] }] }] }] }] }],
        },
      ],
      seed: 7448,
    },
  ],
  [
    'S94: a question that is decided while the run above looks at it is told of once',
    {
      setup: {},
      steps: [
        {
          do: 'send',
          to: 'a',
          name: 'in0',
          plan: [{ calls: [{ delegate: [{ calls: [{ tool: 'askSoon' }, { tool: 'ask' }] }] }, { tool: 'askSoon' }] }],
        },
      ],
      seed: 5930,
    },
  ],
  [
    'S94: a question that stays open while its subagent goes on is asked once',
    {
      setup: {},
      steps: [
        {
          do: 'follow-up',
          to: 'a',
          name: 'in0',
          plan: [
            {
              calls: [
                { delegate: [{ calls: [{ tool: 'placeSoon' }, { delegate: [{ calls: [{ tool: 'placeSoon' }, { tool: 'ask' }] }] }] }] },
              ],
            },
          ],
        },
      ],
      seed: 493,
    },
  ],
  [
    'S94, S115: a task launched by another goes on asking when the other one asks too',
    {
      setup: {},
      steps: [
        {
          do: 'steer',
          to: 'a',
          name: 'in2',
          plan: [
            {
              calls: [
                {
                  delegate: [
                    { calls: [{ delegate: [{ calls: [{ tool: 'place' }] }], background: true }] },
                    { calls: [{ delegate: [{ calls: [{ tool: 'place' }] }] }] },
                  ],
                  background: true,
                },
              ],
            },
          ],
        },
      ],
      seed: 1313,
    },
  ],
  [
    'S124: a turn that expires says what it has cost',
    { setup: { idleMs: 30_000, maxCost: '1' }, steps: [{ do: 'send', to: 'a', name: 'first', plan: [{ calls: [{ tool: 'ask' }] }] }] },
  ],
  [
    'S112, S124: a turn that is held for its definition says what it has cost',
    {
      setup: { onDefinitionChange: 'refuse', maxCost: '1' },
      steps: [
        { do: 'send', to: 'a', name: 'first', plan: [{ calls: [{ tool: 'ask' }] }] },
        { do: 'restart', definition: 1 },
        { do: 'answer', to: 'a', how: 'yes' },
      ],
    },
  ],
  [
    'S94, S115: a call below a task in the background is not named any more when it is answered',
    {
      setup: {},
      steps: [
        {
          do: 'send',
          to: 'a',
          name: 'in0',
          plan: [{ calls: [{ delegate: [{ calls: [{ delegate: [{ calls: [{ tool: 'place' }] }] }] }], background: true }] }],
        },
        { do: 'answer', to: 'a', how: 'yes' },
      ],
      seed: 745,
    },
  ],
  [
    'S94, S115: a task that is killed tells no decision again',
    {
      setup: {},
      steps: [
        {
          do: 'follow-up',
          to: 'a',
          name: 'in5',
          plan: [
            { calls: [{ delegate: [{ calls: [{ delegate: [{ calls: [{ tool: 'ask' }] }, { fails: 'once' }], background: true }] }] }] },
          ],
        },
        { do: 'answer', to: 'a', how: 'again' },
        { do: 'kill', to: 'a' },
      ],
      seed: 24574,
    },
  ],
  [
    'S94: a decision that a subagent takes while the run above looks is told as it is',
    {
      setup: {},
      steps: [
        {
          do: 'send',
          to: 'a',
          name: 'first',
          plan: [
            {
              calls: [
                { tool: 'askSoon' },
                {
                  delegate: [
                    {
                      calls: [
                        { delegate: [{ calls: [{ tool: 'askSoon' }, { tool: 'ask' }] }] },
                        { delegate: [{ calls: [{ tool: 'ask' }, { tool: 'ask' }] }] },
                      ],
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
      seed: 6,
    },
  ],
  [
    'S94, S115: a task that is killed tells a decision that was taken below it',
    {
      setup: { concurrency: 2, durability: 'turn' },
      steps: [
        {
          do: 'send',
          to: 'a',
          name: 'first',
          plan: [
            {
              calls: [
                {
                  delegate: [{ calls: [{ delegate: [{ calls: [{ tool: 'look' }] }] }, { delegate: [{ calls: [{ tool: 'askSoon' }] }] }] }],
                  background: true,
                },
                { delegate: [] },
              ],
            },
          ],
        },
        { do: 'answer', to: 'a', how: 'yes' },
        { do: 'kill', to: 'a' },
      ],
      seed: 82161,
      crashes: [
        { at: 91, how: 'kill-after' },
        { at: 130, how: 'kill' },
      ],
    },
  ],
  [
    'S94: a call that was denied in time is not approved by a client that had looked before',
    {
      setup: { idleMs: 10_000, hooks: [{ hook: 'onAgentEnd', does: 'throw' }] },
      steps: [
        { do: 'send', to: 'a', name: 'first', plan: [] },
        {
          do: 'send',
          to: 'a',
          name: 'in0',
          plan: [{ calls: [{ tool: 'askSoon' }, { delegate: [{ calls: [{ delegate: [{ calls: [{ tool: 'ask' }] }] }] }] }] }],
          turns: 9,
        },
        { do: 'answer', to: 'a', how: 'yes', turns: 2 },
        { do: 'drain', ms: 0, turns: 3 },
      ],
      seed: 25794,
      crashes: [{ at: 92, how: 'freeze', ms: 5_001 }],
    },
  ],
  [
    'S115: word of a task that comes when a turn is resumed at its end is placed where the log stands',
    {
      setup: {
        guardrail: 'wait',
        hooks: [
          { hook: 'onSavePoint', does: 100, onError: 'fail', times: 1 },
          { hook: 'onStepEnd', does: 100, onError: 'fail' },
        ],
      },
      steps: [
        { do: 'send', to: 'a', name: 'first', plan: [{ calls: [{ delegate: [], background: true }, { tool: 'pay' }] }] },
        { do: 'send', to: 'a', name: 'in0', plan: [] },
      ],
      seed: 25049,
      crashes: [
        { at: 36, how: 'kill-after' },
        { at: 73, how: 'kill-after' },
      ],
    },
  ],
  [
    'S124: a session that expires while its compaction comes to rest settles once',
    {
      setup: { modelMs: 1000, idleMs: 30_000, compaction: 'after-turn' },
      steps: [
        { do: 'send', to: 'a', name: 'first', plan: [] },
        { do: 'stop', to: 'a', turns: 0 },
        { do: 'label', to: 'a', turns: 0 },
        { do: 'switch', to: 'a', back: 0 },
        { do: 'set-clock', byMs: 90_000 },
      ],
      seed: 8273,
      crashes: [{ at: 50, how: 'kill-after' }],
    },
  ],
  [
    'S116: a slow reader of a run meets its end when a task has sent word behind it',
    {
      setup: { hooks: [{ hook: 'onStepEnd', does: 3000 }] },
      steps: [
        { do: 'send', to: 'a', name: 'first', plan: [{ calls: [{ delegate: [{ calls: [{ tool: 'output' }] }], background: true }] }] },
        { do: 'read', to: 'a', from: 0, lag: 40, run: true },
      ],
      seed: 2487,
    },
  ],
  [
    'S62, S203: a run whose process can renew no lease is given up',
    { setup: { modelMs: 12_000 }, steps: [{ do: 'send', to: 'a', name: 'first', plan: [] }], crashes: [{ at: 5, how: 'never-renewed' }] },
  ],
]

it.each(found)('%s', async (_name, program) => {
  const { failures } = await runProgram({ seed: 1, crashes: [], ...program })
  expect(failures).toEqual([])
})
