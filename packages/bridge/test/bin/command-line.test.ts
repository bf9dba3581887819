import { describe, expect, it } from 'vitest'
import { readCommandLine } from '../../src/bin/command-line.ts'
import { atLevel, type LogLevel } from '../../src/logger.ts'
import { recordingLogger } from '../support.ts'

const nothing = {
  command: 'serve',
  question: undefined,
  configFile: undefined,
  workers: [],
  defaultAgentId: undefined,
  http: undefined,
  logLevel: 'info',
}

describe('the command line', () => {
  it('without arguments the bridge is served on stdin and stdout', () => {
    expect(readCommandLine([], {})).toEqual(nothing)
  })

  it('has a flag for every option', () => {
    const argv = [
      ...['--config', 'a.ts', '--worker', 'one=node "my agent.js" --fast', '--worker=two=./two', '--default-agent', 'two'],
      ...['--http', 'localhost:8808', '--allow-host', 'box.lan', '--allow-host', 'box', '--log-level', 'warn', 'check'],
    ]
    expect(readCommandLine(argv, { BOWLINE_BRIDGE_TOKEN: 'secret' })).toEqual({
      command: 'check',
      question: undefined,
      configFile: 'a.ts',
      workers: [
        { id: 'one', command: 'node', args: ['my agent.js', '--fast'] },
        { id: 'two', command: './two', args: [] },
      ],
      defaultAgentId: 'two',
      http: { host: 'localhost', port: 8808, allowedHosts: ['box.lan', 'box'], token: 'secret' },
      logLevel: 'warn',
    })
  })

  it('uses variables where a flag is absent; empty variables are ignored', () => {
    const environment = { BOWLINE_BRIDGE_CONFIG: 'b.ts', BOWLINE_LOG_LEVEL: 'error' }
    expect(readCommandLine([], environment)).toEqual({ ...nothing, configFile: 'b.ts', logLevel: 'error' })
    const flags = ['--config', 'a.ts', '--log-level', 'silent']
    expect(readCommandLine(flags, environment)).toEqual({ ...nothing, configFile: 'a.ts', logLevel: 'silent' })
    const empty = { BOWLINE_BRIDGE_CONFIG: '', BOWLINE_LOG_LEVEL: '', BOWLINE_BRIDGE_TOKEN: '' }
    expect(readCommandLine(['--http', '1'], empty).http?.token).toBeUndefined()
    expect(readCommandLine([], empty)).toEqual(nothing)
  })

  it('help and version win over all other arguments', () => {
    expect(readCommandLine(['check', '--help'], {}).command).toBe('help')
    expect(readCommandLine(['-v'], {}).command).toBe('version')
  })

  it.each<[string, string, number]>([
    ['127.0.0.1:8808', '127.0.0.1', 8808],
    [':8808', '127.0.0.1', 8808],
    ['8808', '127.0.0.1', 8808],
    ['[::1]:0', '::1', 0],
    ['127.8.8.8:1', '127.8.8.8', 1],
  ])('B113: --http %s is loopback, and needs no token', (text, host, port) => {
    expect(readCommandLine(['--http', text], {}).http).toMatchObject({ host, port, token: undefined })
  })

  it.each(['0.0.0.0:8808', '[::]:8808', '192.168.1.4:8808', 'box.lan:8808', '127.0.0.1.evil.example:80'])(
    'B113: --http %s needs a token',
    (address) => {
      expect(() => readCommandLine(['--http', address], {})).toThrow(/set BOWLINE_BRIDGE_TOKEN/)
      expect(readCommandLine(['--http', address], { BOWLINE_BRIDGE_TOKEN: 't' }).http?.token).toBe('t')
    },
  )

  it.each<[string[], RegExp]>([
    [['--wroker', 'a=b'], /There is no --wroker; did you mean --worker\?/],
    [['--colour=red'], /There is no --colour: see bowline-bridge --help/],
    [['chekc'], /There is no chekc; did you mean check\?/],
    [['serve'], /There is no serve/],
    [['check', 'twice'], /check takes no argument; received "twice"/],
    [['--config'], /'--config <value>' argument missing/],
    [['--http', 'there'], /--http there is not an address/],
    [['--http', '127.0.0.1:65536'], /not an address/],
    [['--http', '::1:80'], /not an address/],
    [['--allow-host', 'box'], /--allow-host needs --http/],
    [['--worker', 'node agent.js'], /must be ID=COMMAND/],
    [['--worker', 'one= '], /must be ID=COMMAND/],
    [['--worker', '=node'], /must be ID=COMMAND/],
    [['--log-level', 'loud'], /The log level must be one of debug, info, warn, error, silent; received loud/],
  ])('refuses %j with advice', (argv, text) => {
    expect(() => readCommandLine(argv, {})).toThrow(text)
  })

  it('B76: the command of a worker has only quotes and words: no shell reads it', () => {
    const [worker] = readCommandLine(['--worker', `one=agent '$HOME' "a b" | rm *`], {}).workers
    expect(worker).toEqual({ id: 'one', command: 'agent', args: ['$HOME', 'a b', '|', 'rm', '*'] })
  })

  it('passes on messages of at least the given level', () => {
    const told = (level: LogLevel) => {
      const logger = recordingLogger()
      const quiet = atLevel(logger, level)
      for (const name of ['debug', 'info', 'warn', 'error'] as const) quiet[name]({}, name)
      return logger.lines.map(({ message }) => message)
    }
    expect(told('debug')).toEqual(['debug', 'info', 'warn', 'error'])
    expect(told('info')).toEqual(['info', 'warn', 'error'])
    expect(told('warn')).toEqual(['warn', 'error'])
    expect(told('error')).toEqual(['error'])
    expect(told('silent')).toEqual([])
  })
})

describe('B124: ask', () => {
  it('B124: takes an agent and a text, and logs errors only', () => {
    expect(readCommandLine(['ask', 'reviewer', 'Is this right?'], {})).toEqual({
      ...nothing,
      command: 'ask',
      logLevel: 'error',
      question: { agentId: 'reviewer', prompt: 'Is this right?' },
    })
    expect(readCommandLine(['ask', 'a', 'b', '--log-level', 'info'], {}).logLevel).toBe('info')
  })

  it.each([[['ask']], [['ask', 'a']], [['ask', 'a', ' ']], [['ask', 'a', 'two', 'words']]])('B124: refuses %j with an example', (argv) => {
    expect(() => readCommandLine(argv, {})).toThrow(/ask takes an agent and one text in quotes/)
  })
})
