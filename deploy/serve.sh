# Serves a project, and makes it first where it is not there yet: from DATA/taxonomy.yaml, and DATA/items.csv if it is there.
# The environment says where: ADDRESS (the database), PROJECT and DATA (folders), TOKEN, PORT.
set -eu
if [ -z "${TOKEN:-}" ]; then
    echo "Give the server a TOKEN: whoever has it may annotate." >&2
    exit 1
fi
if [ ! -f "$PROJECT/ramify.json" ]; then
    ramify init "$ADDRESS" "$PROJECT" --taxonomy "$DATA/taxonomy.yaml"
fi
# Adding the same again changes nothing, so that an interrupted beginning is begun again.
if [ -f "$DATA/items.csv" ]; then
    ramify add "$PROJECT" "$DATA/items.csv"
fi
exec ramify serve "$PROJECT" --host 0.0.0.0 --port "${PORT:-8000}" --token "$TOKEN"
