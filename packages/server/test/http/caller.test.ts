import { describe, expect, it } from 'vitest'
import { checkAccess, isLoopbackHost, type AccessRules } from '../../src/http/access.ts'
import { networkOf, parseAddress, parseRanges } from '@bowline/sessions/internal'
import { callerOf, type Caller } from '../../src/http/caller.ts'

const { ranges: trusted } = parseRanges(['10.0.0.0/8', '192.168.1.7', 'fd00::/8'], String)

function caller(remoteAddress: string | undefined, headers: Record<string, string> = {}, localAddress?: string): Caller {
  const request = new Request('http://inside:80/path', { headers: { host: 'inside', ...headers } })
  return callerOf(
    request,
    { ...(remoteAddress !== undefined && { remoteAddress }), ...(localAddress !== undefined && { localAddress }) },
    trusted,
  )
}

describe('V69: the caller of a request', () => {
  const forwarded = {
    'x-forwarded-for': '1.1.1.1, 2.2.2.2, 10.9.9.9',
    'x-forwarded-host': 'evil.example, shop.example',
    'x-forwarded-proto': 'http, https',
  }

  it('V69: ignores forwarded headers of an untrusted peer', () => {
    expect(caller('3.3.3.3', forwarded)).toEqual({ address: '3.3.3.3', localAddress: undefined, host: 'inside', origin: 'http://inside' })
    expect(caller('not an address', forwarded)).toMatchObject({ address: 'not an address', host: 'inside' })
    expect(caller(undefined, forwarded)).toMatchObject({ address: undefined, host: 'inside' })
  })

  it('V69: takes the nearest host and protocol from a trusted proxy, and the last address that is not a proxy', () => {
    expect(caller('10.0.0.1', forwarded, '::ffff:10.0.0.2')).toEqual({
      address: '2.2.2.2',
      localAddress: '10.0.0.2',
      host: 'shop.example',
      origin: 'https://shop.example',
    })
    expect(caller('192.168.1.7', forwarded).address).toBe('2.2.2.2')
    expect(caller('192.168.1.8', forwarded).address).toBe('192.168.1.8')
    expect(caller('::ffff:10.0.0.1', forwarded).address).toBe('2.2.2.2')
  })

  it('V69: takes the first address if a chain has only proxies; a value that is not an address ends the chain', () => {
    expect(caller('10.0.0.1', { 'x-forwarded-for': '10.0.0.2, 10.0.0.3' }).address).toBe('10.0.0.2')
    expect(caller('10.0.0.1', { 'x-forwarded-for': '1.1.1.1, unknown, 10.0.0.3' }).address).toBe('10.0.0.3')
    expect(caller('10.0.0.1').address).toBe('10.0.0.1')
  })

  it('V69: removes ports and brackets from the address of a hop', () => {
    expect(caller('10.0.0.1', { 'x-forwarded-for': '1.1.1.1:8080' }).address).toBe('1.1.1.1')
    expect(caller('10.0.0.1', { 'x-forwarded-for': '[2001:db8::1]:8080' }).address).toBe('2001:db8::1')
    expect(caller('10.0.0.1', { 'x-forwarded-for': '[2001:db8::1]' }).address).toBe('2001:db8::1')
    expect(caller('fd00::1', { 'x-forwarded-for': '2001:db8::1' }).address).toBe('2001:db8::1')
  })

  it('V69: without forwarded host or protocol it uses those of the request; any other protocol is http', () => {
    expect(caller('10.0.0.1', { 'x-forwarded-host': '' })).toMatchObject({ host: 'inside', origin: 'http://inside' })
    expect(caller('10.0.0.1', { 'x-forwarded-proto': 'gopher' }).origin).toBe('http://inside')
    expect(caller('10.0.0.1', { 'x-forwarded-host': 'a b' }).origin).toBe('null')
    const tls = new Request('https://inside/', { headers: { 'x-forwarded-for': '1.1.1.1' } })
    expect(callerOf(tls, { remoteAddress: '10.0.0.1' }, trusted)).toMatchObject({ host: 'inside', origin: 'https://inside' })
  })

  it.each([
    ['1.2.3.4', '1.2.3.4'],
    [undefined, 'unknown'],
    ['socket', 'socket'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff::', '2001:db8:1:2::/64'],
    ['::ffff:1.2.3.4', '::ffff:1.2.3.4'],
  ])('V75: %s counts as %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })

  it('V69: forms that programs read differently are not accepted as addresses', () => {
    for (const text of ['127.1', '0x7f000001', '2130706433', '', 'localhost', undefined]) expect(parseAddress(text)).toBeUndefined()
    expect(parseRanges(['10.0.0.0/8', '10.0.0.1', '::1', '::/0', '10.0.0.0/33', 'x'], (place) => `list[${place}]`).faults).toEqual([
      'list[4]: "10.0.0.0/33" must be an IP address or a range such as 10.0.0.0/8',
      'list[5]: "x" must be an IP address or a range such as 10.0.0.0/8',
    ])
  })
})

describe('V66, V67: who is allowed in', () => {
  const rules: AccessRules = { hosts: ['shop.example', 'shop.example:8080'], origins: ['https://page.example'], loopbackOnly: false }
  const from = (parts: Partial<Caller>): Caller => ({
    address: '3.3.3.3',
    localAddress: '10.0.0.9',
    host: 'shop.example',
    origin: 'https://shop.example',
    ...parts,
  })
  const codeOf = (who: Caller, origin?: string, with_: Partial<AccessRules> = {}): string => {
    try {
      checkAccess(new Request('http://x/', { headers: origin === undefined ? {} : { origin } }), who, { ...rules, ...with_ })
      return 'in'
    } catch (error) {
      return (error as { code: string }).code
    }
  }

  it.each([
    ...[
      ['shop.example', 'in'],
      ['SHOP.example:8080', 'in'],
      ['shop.example:1', 'in'],
      ['other.example', 'host-not-allowed'],
      ['', 'host-not-allowed'],
      ['a b', 'host-not-allowed'],
    ],
    ...[
      ['localhost', 'in'],
      ['127.0.0.1:80', 'in'],
      ['[::1]', 'in'],
      ['10.0.0.9', 'in'],
      ['10.0.0.8', 'host-not-allowed'],
    ],
  ])('V66: a Host of %j is %s', (host, code) => {
    expect(codeOf(from({ host }))).toBe(code)
  })

  it('V66: an IPv6 address of this machine is named in brackets', () => {
    expect(codeOf(from({ host: '[2001:db8::1]:80', localAddress: '2001:db8::1' }))).toBe('in')
    expect(codeOf(from({ host: '[2001:db8::1]', localAddress: undefined }))).toBe('host-not-allowed')
  })

  it('V57: with loopbackOnly only this machine is allowed in, under a local name', () => {
    const only = { loopbackOnly: true }
    for (const address of ['127.0.0.1', '127.9.9.9', '::1'])
      expect(codeOf(from({ address, host: 'localhost' }), undefined, only)).toBe('in')
    for (const address of ['3.3.3.3', undefined, '1270.0.0.1', '128.0.0.1', '127.0.0.1.evil'])
      expect(codeOf(from({ address, host: 'localhost' }), undefined, only)).toBe('host-not-allowed')
    expect(codeOf(from({ address: '127.0.0.1' }), undefined, only)).toBe('host-not-allowed')
    expect(codeOf(from({ address: '127.0.0.1', host: '10.0.0.9' }), undefined, only)).toBe('host-not-allowed')
  })

  it('V67: pages of the own and of listed origins are allowed in', () => {
    expect(codeOf(from({}), 'https://shop.example')).toBe('in')
    expect(codeOf(from({}), 'https://page.example')).toBe('in')
    for (const origin of ['https://other.example', 'http://page.example', 'null', ''])
      expect(codeOf(from({}), origin)).toBe('origin-not-allowed')
    expect(codeOf(from({}), 'https://other.example', { origins: ['*'] })).toBe('in')
  })

  it.each([
    ['localhost', true],
    ['127.0.0.1', true],
    ['[::1]', true],
    ['::1', true],
    ['127.3.2.1', true],
    ['0.0.0.0', false],
    ['example.com', false],
    ['', false],
  ])('V57: %j counts as this machine: %s', (host, is) => {
    expect(isLoopbackHost(host)).toBe(is)
  })
})
