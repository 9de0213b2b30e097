// Ways in which Node programs fail: node crash.js NAME
const widths = new Map();

function width(name) {
  if (!widths.has(name)) throw new RangeError(`no width for ${name} among ${widths.size}`);
  return widths.get(name);
}

const load = (name) => width(name);

const ways = {
  plain: () => load('wq'),
  other: () => undefined.width,
  rejected: async () => load('wq'),
};
ways[process.argv[2]]();
