import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { randomRuns } from '../../../scripts/test-length.ts'
import { argumentChecks, closest, describeValue, fieldChecks, needed, versionCheck, versionMark } from '../src/arguments.ts'

const check = argumentChecks((message) => new RangeError(message))

describe('checks of arguments', () => {
  it('S206: an unknown key is refused by name, with the nearest known one', () => {
    expect(() => check.checkKeys('send.options', { onBussy: 'queue' }, ['onBusy', 'notBefore'])).toThrow(
      new RangeError('send.options has no option "onBussy"; did you mean onBusy?'),
    )
    expect(() => check.checkKeys('send.options', { colour: 1 }, ['onBusy'])).toThrow(
      new RangeError('send.options has no option "colour"; known are onBusy'),
    )
    expect(() => check.checkKeys('send.options', { onBusy: 'queue' }, ['onBusy'])).not.toThrow()
  })

  it('S206: undefined means absent in every check of an optional argument', () => {
    const { checkKeys: _keys, checkName: _name, checkRequired: _required, ...optional } = check
    expect(Object.keys(optional).length).toBeGreaterThan(10)
    check.checkFields('a', undefined, {})
    check.checkFields('a', {}, { size: check.checkText })
    check.checkItems('a', undefined, check.checkText)
    check.checkValues('a', undefined, check.checkName)
    check.checkWhole('a', undefined, 0)
    check.checkNumber('a', undefined, 0)
    check.checkOneOf('a', undefined, [])
    check.checkMethods('a', undefined, ['load'])
    for (const one of [check.checkBoolean, check.checkText, check.checkList, check.checkObject, check.checkFunction, check.checkSignal])
      one('a', undefined)
  })

  it.each([
    ['checkKeys', () => check.checkKeys('a', [], []), 'a must be an object; received a list of 0'],
    ['checkKeys of null', () => check.checkKeys('a', null, []), 'a must be an object; received null'],
    [
      'checkFields of an unknown field',
      () => check.checkFields('a', { siez: 1 }, { size: check.checkText }),
      'a has no option "siez"; did you mean size?',
    ],
    [
      'checkFields of a wrong field',
      () => check.checkFields('a', { size: 1 }, { size: check.checkText }),
      'a.size must be a text; received 1',
    ],
    ['checkItems', () => check.checkItems('a', ['x', 1], check.checkText), 'a[1] must be a text; received 1'],
    [
      'checkItems of a list with a hole',
      () => check.checkItems('a', Array(1), check.checkName),
      'a[0] must be a text with at least one character; received undefined',
    ],
    ['checkValues', () => check.checkValues('a', { x: 1 }, check.checkText), 'a.x must be a text; received 1'],
    ['checkValues of a list', () => check.checkValues('a', ['x'], check.checkText), 'a must be an object; received a list of 1'],
    ['checkWhole', () => check.checkWhole('a', 1.5, 0), 'a must be a whole number from 0; received 1.5'],
    ['checkWhole with an end', () => check.checkWhole('a', 11, 1, 10), 'a must be a whole number from 1 to 10; received 11'],
    ['checkNumber', () => check.checkNumber('a', Number.NaN, 0), 'a must be a number from 0; received NaN'],
    [
      'checkOneOf',
      () => check.checkOneOf('a', 'que', ['queue', 'steer']),
      'a must be one of queue, steer; received "que"; did you mean queue?',
    ],
    ['checkBoolean', () => check.checkBoolean('a', 'true'), 'a must be true or false; received a text of 4 characters'],
    ['checkText', () => check.checkText('a', 3), 'a must be a text; received 3'],
    ['checkName', () => check.checkName('a', ''), 'a must be a text with at least one character; received an empty text'],
    ['checkList', () => check.checkList('a', { length: 0 }), 'a must be a list; received an object'],
    ['checkObject', () => check.checkObject('a', () => 1), 'a must be an object; received a function'],
    ['checkFunction', () => check.checkFunction('a', new Map()), 'a must be a function; received an instance of Map'],
    [
      'checkMethods',
      () => check.checkMethods('a', { load: 1 }, ['load', 'commit']),
      'a must be an object with load and commit; received an object',
    ],
    [
      'checkSignal',
      () => check.checkSignal('a', new AbortController()),
      'a must be an AbortSignal; received an instance of AbortController',
    ],
    [
      'checkRequired',
      () => check.checkRequired('a', Promise.resolve(1), 'a model', () => false),
      'a must be a model; received a promise: await it first',
    ],
  ])('S208: %s names the argument, what it must be, and the kind of value received', (_name, run, message) => {
    expect(run).toThrow(new RangeError(message))
  })

  it('S208: an option is named as the caller writes it, a field of another argument by the whole path', () => {
    const fields = { size: check.checkText }
    for (const path of ['send.options', 'options'])
      expect(() => check.checkFields(path, { size: 1 }, fields)).toThrow(new RangeError('size must be a text; received 1'))
    expect(() => check.checkFields('send.options', { siez: 1 }, fields)).toThrow(
      new RangeError('send.options has no option "siez"; did you mean size?'),
    )
    expect(() => check.checkFields('lease', { size: 1 }, fields)).toThrow(new RangeError('lease.size must be a text; received 1'))
  })

  it('S208: an absent required value is refused as undefined, and null as null', () => {
    expect(() => check.checkOneOf('a', needed(undefined), ['x'])).toThrow(new RangeError('a must be one of x; received undefined'))
    expect(() => check.checkWhole('a', needed(undefined), 0)).toThrow(new RangeError('a must be a whole number from 0; received undefined'))
    expect(() => check.checkText('a', needed(null))).toThrow(new RangeError('a must be a text; received null'))
    expect(() => check.checkText('a', needed('x'))).not.toThrow()
  })

  it('S208: the error shows no text from the caller, and no value makes the check itself fail', () => {
    expect(describeValue('sk-secret')).toBe('a text of 9 characters')
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, withMap: true }), (value) => {
        expect(typeof describeValue(value)).toBe('string')
        if (typeof value === 'string' && value.length > 12) expect(describeValue(value)).not.toContain(value)
      }),
      randomRuns(100),
    )
  })

  it('S208: the error stays short, however long the name of the key is', () => {
    expect(() => check.checkKeys('a', { ['x'.repeat(100_000)]: 1 }, ['y'])).toThrow(/^.{0,80}$/)
  })

  it('S206: the nearest name is found across case and separators, and only if it is near enough', () => {
    expect(closest('max_tokens', ['maxTokens', 'temperature'])).toBe('maxTokens')
    expect(closest('zzz', ['maxTokens', 'temperature'])).toBeUndefined()
  })
})

describe('checks of a table of fields', () => {
  const { checkName, checkText, listOf, methods, number, oneOf, optional, optionalName, optionalRecord, record, required, ...more } =
    fieldChecks((message) => new RangeError(message))
  const { requiredFunction, requiredList, requiredMethods, valuesOf, whole } = more
  interface Options {
    readonly id: string
    readonly size?: number
    readonly names?: readonly string[]
  }
  const options = record<Options>({ id: checkName, size: whole(1, 9), names: listOf(checkName) })

  it('S206: each field says whether it is required', () => {
    options('a', { id: 'x' })
    options('a', { id: 'x', size: undefined, names: undefined })
    expect(() => options('a', {})).toThrow(new RangeError('a.id must be a text with at least one character; received undefined'))
    optionalRecord<Options>({ id: checkName, size: whole(1), names: listOf(checkName) })('a', undefined)
  })

  it.each([
    whole(0),
    number(0),
    oneOf('x'),
    methods('load'),
    listOf(checkName),
    valuesOf(checkName),
    optionalName,
    optional(checkName),
    optionalRecord<{ x: 1 }>({ x: whole(1) }),
  ])('S206: undefined means absent in check %# of an optional field', (check) => {
    check('a', undefined)
    expect(() => check('a', Symbol('x'))).toThrow(RangeError)
  })

  it.each([
    ['an absent object', options, undefined, 'a must be an object; received undefined'],
    ['an unknown field', options, { id: 'x', siez: 1 }, 'a has no option "siez"; did you mean size?'],
    ['a number beyond the last', options, { id: 'x', size: 10 }, 'a.size must be a whole number from 1 to 9; received 10'],
    [
      'an item of a list',
      options,
      { id: 'x', names: ['x', ''] },
      'a.names[1] must be a text with at least one character; received an empty text',
    ],
    ['a value of any name', valuesOf(checkText), { x: 'x', y: 1 }, 'a.y must be a text; received 1'],
    ['an absent value', required(checkText), undefined, 'a must be a text; received undefined'],
    ['an absent function', requiredFunction, undefined, 'a must be a function; received undefined'],
    ['an absent list', requiredList(checkName), undefined, 'a must be a list; received undefined'],
    ['absent methods', requiredMethods('load', 'commit'), undefined, 'a must be an object with load and commit; received undefined'],
  ])('S208: %s is refused by its path', (_name, check, value, message) => {
    expect(() => check('a', value)).toThrow(new RangeError(message))
  })
})

describe('objects of another version', () => {
  const check = versionCheck({ name: '@acme/store', version: '1.3.0' }, (message) => new RangeError(message))
  const madeWith = (version: string) => ({ load: () => undefined, ...versionMark({ name: '@acme/store', version }) })

  it.each(['1.2.9', '1.4.0', '2.3.0', '0.3.0', '1.2.9-beta.1'])('S208: made with %s are refused with both versions', (version) => {
    const message = `options.store was made with @acme/store ${version}, but @acme/store 1.3.0 is used here; install one version (npm ls @acme/store shows where they come from)`
    expect(() => check('options.store', madeWith(version))).toThrow(new RangeError(message))
    expect(() => check('options.store', { ...madeWith(version) })).toThrow(new RangeError(message))
    expect(() => check('options.store', new Proxy(madeWith(version), {}))).toThrow(new RangeError(message))
  })

  it.each(['1.3.0', '1.3.7', '1.3.0-beta.1'])('S208: made with %s, which differs in the patch at most, are accepted', (version) => {
    check('options.store', madeWith(version))
  })

  it('S208: without a mark, or with that of another package, are accepted', () => {
    check('options.store', undefined)
    check('options.store', null)
    check('options.store', 'a text')
    check('options.store', { load: () => undefined })
    check('options.store', versionMark({ name: '@acme/other', version: '9.0.0' }))
  })
})
