"""What SARIF 2.1.0 asks of the objects that we write (OASIS standard, the section is beside each rule)."""

import re

URI = re.compile(r"^(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$")

# object: (required properties, all properties that we use)
OBJECTS = {
    "log": ({"version", "runs"}, {"$schema", "version", "runs"}),  # 3.13
    "run": ({"tool"}, {"tool", "automationDetails", "invocations", "columnKind", "results", "properties"}),  # 3.14
    "driver": ({"name"}, {"name", "version", "rules"}),  # 3.19
    "rule": ({"id"}, {"id", "shortDescription", "defaultConfiguration"}),  # 3.49
    "invocation": ({"executionSuccessful"}, {"executionSuccessful", "properties"}),  # 3.20
    "result": ({"message"}, {"ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations",
                               "partialFingerprints", "occurrenceCount", "properties"}),  # 3.27
}
TYPES = {"version": str, "runs": list, "tool": dict, "results": list, "name": str,
         "id": str, "ruleId": str, "ruleIndex": int, "message": dict, "locations": list, "occurrenceCount": int}


def check_object(kind, value):
    required, known = OBJECTS[kind]
    assert isinstance(value, dict) and required <= set(value) <= known, (kind, sorted(value))
    for key, item in value.items():
        assert item is not None and isinstance(item, TYPES.get(key, object)), (kind, key)


def check_location(location):
    physical = location["physicalLocation"]  # 3.28, 3.29
    assert set(physical) == {"artifactLocation", "region"} and physical["region"]["startLine"] >= 1  # 3.30.5
    uri = physical["artifactLocation"]["uri"]  # 3.4: RFC 3986
    assert uri and URI.match(uri), uri


def check_result(result, rules):
    check_object("result", result)
    assert isinstance(result["message"].get("text"), str) and result["message"]["text"]  # 3.11
    assert result["level"] in ("none", "note", "warning", "error")  # 3.27.10
    # 3.27.5, 3.27.6
    assert 0 <= result["ruleIndex"] < len(rules) and rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["occurrenceCount"] >= 1  # 3.27.18
    assert all(isinstance(value, str) for value in result["partialFingerprints"].values())  # 3.27.17
    for location in result["locations"] + result.get("relatedLocations", []):
        check_location(location)


def check_sarif(document):
    check_object("log", document)
    assert document["version"] == "2.1.0" and len(document["runs"]) == 1
    run = document["runs"][0]
    check_object("run", run)
    driver = run["tool"]["driver"]
    check_object("driver", driver)
    rules = driver["rules"]
    for rule in rules:
        check_object("rule", rule)
        assert rule["shortDescription"]["text"]
    ids = [rule["id"] for rule in rules]
    assert len(ids) == len(set(ids))  # 3.19.23
    for invocation in run["invocations"]:
        check_object("invocation", invocation)
    for result in run["results"]:
        check_result(result, rules)
