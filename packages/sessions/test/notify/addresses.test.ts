import { expect, it } from 'vitest'
import { isPublic, parseAddress } from '../../src/net/addresses.ts'

const is = (text: string): boolean => isPublic(parseAddress(text) ?? expect.fail(text))

it('S213: an address is public if it is reachable from anywhere', () => {
  expect(['8.8.8.8', '2606:4700::1', '::ffff:8.8.8.8', '168.63.129.17'].map(is)).toEqual([true, true, true, true])
  const inside = ['127.0.0.1', '10.0.0.1', '192.168.0.1', '169.254.169.254', '100.64.0.1', '224.0.0.1', '0.0.0.0', '168.63.129.16']
  const inside6 = ['::1', '::', 'fe80::1', 'fd00::1', 'ff02::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '5f00::1']
  for (const address of [...inside, ...inside6]) expect(is(address), address).toBe(false)
})
